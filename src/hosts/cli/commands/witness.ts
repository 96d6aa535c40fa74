/** `banksman witness`: a witness for the trails of others. The files are this account's; neither store nor service is needed. */
import { createCosigner } from '#app/witness/cosigner';
import { logKeyFrom, type WitnessedLog, type WitnessFiles, witnessFiles } from '#app/witness/witness-files';
import { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import { type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText, stderrLog } from '../output.ts';
import { confirmed, stateDirOf, untilStopped } from '../session.ts';
import { listenAddress, stopped } from './serve.ts';

const verbs = { serve, add, remove, list, checkpoint, key };

export async function runWitness([verb = '', ...words]: readonly string[], options: CommandOptions): Promise<number> {
  const run = new Map(Object.entries(verbs)).get(verb);
  if (run !== undefined) return run(words, options);
  throw noSuchVerb('witness', Object.keys(verbs), verb);
}

/** The last line on stdout is JSON with the address and the key. */
async function serve(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const address = listenAddress('witness serve', options.http);
  const files = filesOf(options);
  // Loaded on demand: the other commands start without it.
  const { serveWitness } = await import('#hosts/witness/serve-witness');
  const cosigner = await createCosigner(files, stderrLog);
  try {
    await untilStopped(async (signal) => {
      const server = await serveWitness({ cosigner, ...address, log: stderrLog });
      try {
        printJson({ url: server.url, key: cosigner.key });
        if (!isLoopback(address.host)) printError(beyondLoopback);
        if ((await files.logs()).every(({ keys }) => keys.length === 0))
          printError('no log is known yet: name one with `banksman witness add KEY` (there: `banksman audit key`)');
        await stopped(signal);
      } finally {
        await server.close();
      }
    });
  } finally {
    await cosigner.close();
  }
  return 0;
}

const beyondLoopback =
  'plain HTTP beyond loopback: nobody can forge anything on the way, but see and hold it up; put a proxy with TLS before it (docs/witness.md)';

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** SECURITY: on a person's word, and never because somebody sent a checkpoint. */
async function add(words: readonly string[], options: CommandOptions): Promise<number> {
  const [text = ''] = operands(words, ['KEY']);
  const { name: origin } = logKeyFrom(text);
  const files = filesOf(options);
  const before = (await files.log(origin))?.keys ?? [];
  const more = before.length === 0 || before.includes(text.trim()) ? '' : `It has ${before.length} already; this one may sign for it, too.`;
  await confirmed('naming a log', [text.trim(), `Is this what the operator of ${origin} says? ${more}`], 'add');
  const log = await files.addLog(text);
  if (options.json) printJson(await described(files, log));
  else
    printText(`${showPlainly(log.origin, 200)} is witnessed; its operator configures this witness's key: ${(await files.key()).verifier}`);
  return 0;
}

async function remove(words: readonly string[], options: CommandOptions): Promise<number> {
  const [origin = ''] = operands(words, ['ORIGIN']);
  const shown = showPlainly(origin, 200);
  await confirmed('removing a log', [`The log ${origin} is cosigned no more. What was cosigned is remembered.`], 'remove');
  await filesOf(options).removeLog(origin);
  printText(`${shown} is cosigned no more`);
  return 0;
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const files = filesOf(options);
  const logs = (await files.logs()).filter(({ keys }) => keys.length > 0);
  const all = await Promise.all(logs.map((log) => described(files, log)));
  if (options.json) printJson(all);
  else for (const one of all) printText(lineOf(one));
  if (all.length === 0 && !options.json) printText('no log is known: `banksman witness add KEY`');
  return 0;
}

/** The last one that was cosigned: `banksman audit verify --since` takes it where the log is. */
async function checkpoint(words: readonly string[], options: CommandOptions): Promise<number> {
  const [origin = ''] = operands(words, ['ORIGIN']);
  const files = filesOf(options);
  const note = (await files.log(origin)) === undefined ? undefined : (await files.head(origin)).note;
  if (note === undefined) throw new Fault('not_found', 'nothing was cosigned of such a log', { audience: 'user' });
  printText(note);
  return 0;
}

async function key(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  printText((await filesOf(options).key()).verifier);
  return 0;
}

function filesOf(options: CommandOptions): WitnessFiles {
  return witnessFiles(stateDirOf(options));
}

type Described = Awaited<ReturnType<typeof described>>;

async function described(files: WitnessFiles, { origin, keys }: WitnessedLog) {
  const [{ size, at }, refused] = await Promise.all([files.head(origin), files.refused(origin)]);
  return { origin, keys, size, at: at ?? null, refused: refused ?? null };
}

function lineOf({ origin, size, at, refused }: Described): string {
  const has = at === null ? 'nothing cosigned yet' : `${size} records cosigned, first at ${at}`;
  const flaw = refused === null ? '' : '; REFUSED a signed checkpoint that did not go on from it (`--json` shows it)';
  return `${showPlainly(origin, 200)}  ${has}${flaw}`;
}
