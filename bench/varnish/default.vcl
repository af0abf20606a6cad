vcl 4.1;
# Coalesces POSTs by body: the first request for a key is fetched, the others wait
# until its headers are here and then read along from the same busy object.
import std;
import bodyaccess;

backend default {
	.host = "127.0.0.1";
	.port = "@UPSTREAM_PORT@";
	.first_byte_timeout = 60s;
	.between_bytes_timeout = 60s;
}

sub vcl_recv {
	if (req.url !~ "^/v1/") {
		return (pass);
	}
	if (req.method == "POST") {
		if (!std.cache_req_body(1MB)) {
			return (synth(413));
		}
		set req.http.x-post = "1"; # Varnish turns a miss into a GET; see vcl_backend_fetch
	}
	return (hash);
}

sub vcl_hash {
	hash_data(req.url);
	hash_data(req.http.authorization);
	if (req.http.x-post) {
		bodyaccess.hash_req_body();
	}
	return (lookup);
}

sub vcl_backend_fetch {
	if (bereq.http.x-post) {
		set bereq.method = "POST";
	}
}

sub vcl_backend_response {
	if (bereq.uncacheable) {
		return (deliver); # a pass
	}
	set beresp.do_stream = true;
	unset beresp.http.set-cookie;
	if (beresp.status == 200) {
		# The object must live for as long as its stream may run, or clients that come
		# in the middle start a fetch of their own. So a finished answer is replayed too.
		set beresp.ttl = 10s;
		set beresp.grace = 0s;
		set beresp.keep = 0s;
	} else {
		# Long enough to reach the clients that wait already. With 0s they would go
		# upstream one after the other; with 1ms some do, since it expires before all woke up.
		set beresp.ttl = 100ms;
		set beresp.grace = 0s;
		set beresp.keep = 0s;
	}
	return (deliver);
}
