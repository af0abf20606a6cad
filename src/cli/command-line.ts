/**
 * The command line: which command is meant, with what. Runs nothing.
 */

export type CommandLine =
  | { readonly kind: 'serve'; readonly config: string | null }
  | { readonly kind: 'check'; readonly config: string | null }
  | { readonly kind: 'schema' }
  | {
      readonly kind: 'doctor';
      readonly config: string | null;
      /** Envoy's configuration: a file, or the admin of a running one. */
      readonly target:
        { readonly kind: 'file'; readonly path: string } | { readonly kind: 'admin'; readonly url: string };
      readonly json: boolean;
    }
  | {
      readonly kind: 'explain';
      readonly config: string | null;
      /** A policy's name or text, as Envoy would give it. */
      readonly policy: string | null;
      readonly json: boolean;
      /** Files; none: stdin. */
      readonly requests: readonly string[];
    }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'wrong'; readonly message: string };

/** What the process ends with, after sysexits.h where it has a word for it. */
export const exitCodes = { ok: 0, mistakes: 1, wrongCall: 64, cannotListen: 69, wrongConfig: 78 } as const;

export const usage = `Usage: envoy-coalescer [COMMAND] [OPTIONS]

An Envoy external processor that coalesces identical LLM calls in flight.

Commands:
  serve [--config FILE]   run the processor (the default)
  check [--config FILE | --schema]
                          validate the configuration and print it with its defaults; or print its JSON schema
  explain [--config FILE] [--policy NAME] [--json] [REQUEST…]
                          say of requests (files, or stdin) whether they are shared, and what their key is made of;
                          of two, what differs. REQUEST: HTTP as text, a HAR, or JSON {method, path, headers, body |
                          body_base64, metadata?, attributes?, fleet?}, a list or lines of those
  doctor [--config FILE] --envoy FILE | --admin URL [--json]
                          say what in an Envoy configuration, or a running Envoy, would break coalescing

Options:
  --config FILE           YAML or JSON; without it every key has its default
  --schema                print the JSON schema of the configuration
  --policy NAME           a policy's name or its text, as Envoy would give it; without it the configuration chooses
  --envoy FILE            an Envoy configuration: bootstrap YAML, or what /config_dump printed
  --admin URL             the admin address of a running Envoy
  --json                  one line of JSON for each request, or each finding
  --help                  print this text
  --version               print the version

Exit codes: 0 done, 1 mistakes found by check or doctor, 64 wrong call, 69 cannot listen, 78 wrong configuration
`;

const commands = ['serve', 'check', 'explain', 'doctor'] as const;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(argv: readonly string[]): CommandLine {
  if (argv.some((word) => word === '--help' || word === '-h') || argv[0] === 'help') return { kind: 'help' };
  if (argv.some((word) => word === '--version' || word === '-V')) return { kind: 'version' };
  const [first, ...rest] = argv;
  if (first === undefined || first.startsWith('-')) return parseOptions('serve', argv);
  const command = commands.find((candidate) => candidate === first);
  if (command === undefined) return wrong(`there is no command ${quoted(first)}, only ${commands.join(', ')}`);
  if (command === 'check' && rest.includes('--schema')) return parseSchema(rest);
  if (command === 'explain') return parseExplain(rest);
  return command === 'doctor' ? parseDoctor(rest) : parseOptions(command, rest);
}

function parseOptions(kind: 'serve' | 'check', words: readonly string[]): CommandLine {
  let config: string | null = null;
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [name, inlineValue] = splitOnce(word);
    const known = kind === 'check' ? '--config FILE or --schema' : '--config FILE';
    if (name !== '--config') return wrong(`${kind} takes no ${quoted(word)}, only ${known}`);
    if (config !== null) return wrong('--config is given twice');
    const value = inlineValue ?? left.shift();
    if (value === undefined || value === '') return wrong('--config needs a FILE');
    config = value;
  }
  return { kind, config };
}

function parseSchema(words: readonly string[]): CommandLine {
  return words.length === 1 ? { kind: 'schema' } : wrong('--schema stands alone: it is the same for every FILE');
}

function parseExplain(words: readonly string[]): CommandLine {
  const values = new Map<string, string>();
  const requests: string[] = [];
  let json = false;
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [name, inlineValue] = splitOnce(word);
    if (word === '--json') json = true;
    else if (name === '--config' || name === '--policy') {
      if (values.has(name)) return wrong(`${name} is given twice`);
      const value = inlineValue ?? left.shift();
      if (value === undefined || value === '') return wrong(`${name} needs a ${name === '--config' ? 'FILE' : 'NAME'}`);
      values.set(name, value);
    } else if (word.startsWith('-') && word !== '-') {
      return wrong(`explain takes no ${quoted(word)}, only --config FILE, --policy NAME, --json and REQUEST files`);
    } else requests.push(word);
  }
  const [config = null, policy = null] = ['--config', '--policy'].map((name) => values.get(name));
  return { kind: 'explain', config, policy, json, requests };
}

const doctorValues = { '--config': 'FILE', '--envoy': 'FILE', '--admin': 'URL' } as const;

function parseDoctor(words: readonly string[]): CommandLine {
  const values = new Map<string, string>();
  const left = words.filter((word) => word !== '--json');
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [name, inlineValue] = splitOnce(word);
    if (!isDoctorValue(name)) return wrong(`doctor takes no ${quoted(word)}, only ${doctorUsage}`);
    if (values.has(name)) return wrong(`${name} is given twice`);
    const value = inlineValue ?? left.shift();
    if (value === undefined || value === '') return wrong(`${name} needs a ${doctorValues[name]}`);
    values.set(name, value);
  }
  const [config = null, path = null, url = null] = Object.keys(doctorValues).map((name) => values.get(name));
  if ((path === null) === (url === null)) return wrong('doctor needs one of --envoy FILE and --admin URL');
  if (url !== null && !isHttpUrl(url)) return wrong(`--admin needs an http URL, not ${quoted(url)}`);
  const target = path === null ? { kind: 'admin' as const, url: String(url) } : { kind: 'file' as const, path };
  return { kind: 'doctor', config, target, json: words.includes('--json') };
}

const doctorUsage = '--config FILE, --envoy FILE, --admin URL and --json';

function isDoctorValue(name: string): name is keyof typeof doctorValues {
  return Object.hasOwn(doctorValues, name);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function splitOnce(word: string): readonly [name: string, value: string | null] {
  const at = word.indexOf('=');
  return at === -1 ? [word, null] : [word.slice(0, at), word.slice(at + 1)];
}

function quoted(word: string): string {
  return JSON.stringify(word.slice(0, 100));
}

function wrong(message: string): CommandLine {
  return { kind: 'wrong', message };
}
