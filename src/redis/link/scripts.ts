/**
 * What Redis does in one step, as Lua. Every name that a script touches is one of its keys, and all keys of a call share a
 * hash tag, so that each runs on one node of a Cluster. Owns no sending.
 */

import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  /** SHA-1 of the source, in hex: how a server that knows it is told to run it. */
  readonly sha: string;
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * Leads a key, or tells who does. KEYS: pointer, writer. ARGV: token, lease in ms. Answers the token of the leader.
 */
export const claim: Script = script(`
local leading = redis.call('GET', KEYS[1])
if leading then return leading end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`);

/**
 * Gives up the place under the key, and with `all` the right to write too; only what is still the token's own.
 * KEYS: pointer, writer. ARGV: token, `joining` or `all`.
 */
export const release: Script = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
if ARGV[2] == 'all' then redis.call('DEL', KEYS[2]) end
return 1`);

/**
 * Appends entries, if the writer still may, and wakes the readers; keeps the lease, or gives it back after the last entry.
 * An entry that lies there already, from a try whose answer was lost, is passed over.
 * KEYS: writer, stream, pointer, interest. ARGV: token, lease in ms, stream's time to live in ms, channel, `open`, `closed`
 * or `last`, `first` or `again`, the first id to keep or empty; then id and payload of each entry.
 * Answers -1 where the writer may not, else 1 or 0: whether somebody elsewhere reads.
 */
export const publish: Script = script(`
local final = tonumber(ARGV[#ARGV - 1])
local there = 0
if ARGV[6] == 'again' then
  local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
  if newest[1] then there = tonumber(string.match(newest[1][1], '^%d+')) end
  if there >= final then return redis.call('EXISTS', KEYS[4]) end
end
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
for i = 8, #ARGV, 2 do
  if tonumber(ARGV[i]) > there then redis.call('XADD', KEYS[2], ARGV[i] .. '-0', 'e', ARGV[i + 1]) end
end
if ARGV[7] ~= '' then redis.call('XTRIM', KEYS[2], 'MINID', ARGV[7] .. '-0') end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local own = redis.call('GET', KEYS[3]) == ARGV[1]
if ARGV[5] == 'last' then
  redis.call('DEL', KEYS[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if own and ARGV[5] == 'open' then
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
elseif own then
  redis.call('DEL', KEYS[3])
end
redis.call('PUBLISH', ARGV[4], '')
return redis.call('EXISTS', KEYS[4])`);

/** A reader says that it is there. KEYS: stream, interest. ARGV: lease in ms, stream's time to live in ms. */
export const attend: Script = script(`
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`);

/** Takes one of the fleet's slots, or keeps it. KEYS: slots. ARGV: holder, lease in ms, slots in all. Answers 1 or 0. */
export const takeSlot: Script = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1`);

/** Keeps slots, also where they had been lost: their calls run. KEYS: slots. ARGV: lease in ms, holders. */
export const keepSlots: Script = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[1])
return 1`);

/** Gives a slot back and wakes those that wait for one. KEYS: slots. ARGV: holder, channel. */
export const giveSlot: Script = script(`
local held = redis.call('ZREM', KEYS[1], ARGV[1])
if held == 1 then redis.call('PUBLISH', ARGV[2], '') end
return held`);
