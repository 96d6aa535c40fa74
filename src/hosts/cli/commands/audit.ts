/** `banksman audit`. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { readApprovers } from '#app/config/config-file';
import { defaultConfigFile } from '#app/config/paths';
import { exportAudit, seenBefore, verifyDamaged, verifyExport } from '#app/store/audit-export';
import { writeTiles } from '#app/store/trail-tiles';
import type { App, SeenTrail } from '#kernel/app';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import { Fault, reasonOf, toFault } from '#kernel/errors';
import { isJsonObject } from '#kernel/json';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, noSuchVerb, operands, wholeNumber } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { signIn } from '../passphrase.ts';
import { configOf, looking, stateDirOf, untilStopped, withApp } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function runAudit([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'verify' && words.length > 0) return verifyFile(words, options);
  if (verb === 'prove') return prove(words, options);
  if (verb === 'tiles') return tiles(words, options);
  operands(words, []);
  const run = verb === undefined ? undefined : new Map(Object.entries(wordless)).get(verb);
  if (run !== undefined) return run(options);
  throw noSuchVerb('audit', [...Object.keys(wordless), 'prove', 'tiles'], verb);
}

const wordless = { tail, verify: verifyStore, checkpoint, key: showKey, witness, export: exportTrail };

async function tail(options: CommandOptions): Promise<number> {
  const count = wholeNumber(options.count ?? '20', 'count', { min: 1, max: 100_000 });
  return withApp(
    options,
    async (app) => {
      const records = await app.audit.tail(count);
      for (const record of records) {
        if (options.json) printJson(record);
        else printText(recordLine(record));
      }
      return 0;
    },
    looking,
  );
}

function recordLine({ sequence, time, name, attributes }: AuditRecord): string {
  const agent = isJsonObject(attributes['agent']) ? attributes['agent'] : {};
  const facts = [attributes['gen_ai.tool.name'], attributes['request_id'], attributes['status'], attributes['code'], agent['id']];
  const what = facts.filter((fact): fact is string => typeof fact === 'string' && fact !== '');
  return `${String(sequence).padStart(6)}  ${time}  ${name.padEnd(18)} ${showPlainly(what.join('  '))}`;
}

/** `banksman audit checkpoint`: kept elsewhere, it shows with `verify --since` that a later trail goes on from here. */
async function checkpoint(options: CommandOptions): Promise<number> {
  const { note } = await withApp(options, (app) => app.audit.checkpoint());
  const { output, close } = await openOutput(options.output);
  await writeAll(output, note);
  await close();
  return 0;
}

/** `banksman audit key`. */
async function showKey(options: CommandOptions): Promise<number> {
  printText((await withApp(options, (app) => app.audit.checkpoint())).key);
  return 0;
}

/** `banksman audit witness`: now, and not when the next is due. */
async function witness(options: CommandOptions): Promise<number> {
  const findings = await withApp(options, (app) => app.audit.witness());
  if (options.json) printJson(findings);
  else if (findings.length === 0) printText('no `witnesses` are configured');
  else for (const { state, message } of findings) printText(`${state}: ${showPlainly(message, 1_000)}`);
  return findings.every(({ state }) => state === 'ok') ? 0 : 1;
}

/** `banksman audit prove`: a proof that docs/check-proof.mjs checks by itself. */
async function prove(words: readonly string[], options: CommandOptions): Promise<number> {
  const { since } = options;
  if (since === undefined) {
    const [word = ''] = operands(words, ['RECORD']);
    const record = /^[a-f0-9]{64}$/.test(word) ? word : wholeNumber(word, 'RECORD', { min: 1, max: Number.MAX_SAFE_INTEGER });
    printJson(await withApp(options, (app) => app.audit.prove(record)));
    return 0;
  }
  operands(words, []);
  const seen = (await seenBefore(since, [])).checkpoints?.at(-1);
  if (seen === undefined) throw badUsage('`prove --since` takes a checkpoint, not an export');
  printJson(await withApp(options, (app) => app.audit.proveSince(seen)));
  return 0;
}

/** `banksman audit tiles`: the trail as static files (https://c2sp.org/tlog-tiles). */
async function tiles(words: readonly string[], options: CommandOptions): Promise<number> {
  const [folder = ''] = operands(words, ['DIR']);
  const { config } = await configOf(options);
  const written = await writeTiles({ config, stateDir: stateDirOf(options) }, folder);
  const { checkpoint: made, bundles } = written;
  if (options.json) printJson(written);
  else {
    const lacking = bundles.lacking === 0 ? '' : `; ${bundles.lacking} lack records that have left the trail, or are too long`;
    const left = written.tilesLacking === 0 ? '' : ` (${written.tilesLacking} more are of leaves that have left the store)`;
    printText(`${made.size} records: ${written.tiles} tiles${left}, ${bundles.written} bundles of entries${lacking}`);
  }
  return 0;
}

/** `banksman audit export`. */
async function exportTrail(options: CommandOptions): Promise<number> {
  if ((options.format ?? 'jsonl') !== 'jsonl')
    throw badUsage(`\`--format\` must be jsonl, not \`${showPlainly(options.format ?? '', 40)}\``);
  if (options.as !== undefined && !options.sign) throw badUsage('`--as` says who signs: add `--sign`, or leave it out');
  const { config } = await configOf(options);
  const signer = options.sign ? await signerHere(options) : undefined;
  const { output, close } = await openOutput(options.output);
  const seal = await exportAudit({ config, stateDir: stateDirOf(options) }, (line) => writeAll(output, line), signer);
  await close();
  const by = seal.signature === undefined ? 'not signed (`--sign`)' : `signed by ${seal.signature.approver}`;
  printError(`${seal.records} records, ${by}; check them anywhere with \`banksman audit verify FILE\``);
  return 0;
}

function signerHere(options: CommandOptions): Promise<Signer> {
  return untilStopped((signal) => withTerminal('signing', signal, (terminal) => signIn(terminal, options)));
}

/** A new file of this user's only, or standard output. */
async function openOutput(file: string | undefined): Promise<{ readonly output: Writable; close(): Promise<void> }> {
  if (file === undefined) return { output: process.stdout, close: async () => undefined };
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  try {
    await once(output, 'open');
  } catch (thrown) {
    throw new Fault('cannot_write', `\`--output\`: ${reasonOf(thrown)}`, { audience: 'user', cause: thrown });
  }
  return {
    output,
    close: async () => {
      output.end();
      await finished(output);
    },
  };
}

/** As fast as the reader takes it. */
function writeAll(output: Writable, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  output.write(text, (error) => (error ? reject(error) : resolve()));
  return promise;
}

/** The store's own advice names this command: here it has been taken. */
const restoreWords =
  'keep a copy of the file, then restore a backup or move it away (a new one is made at the next start, with an empty trail)';

/** A store that is too damaged to open is looked through all the same, without writing to it. */
async function verifyStore(options: CommandOptions): Promise<number> {
  const seen = await seenIn(options);
  try {
    return await verifyOpened(options, seen);
  } catch (thrown) {
    const fault = toFault(thrown);
    if (fault.code !== 'store_corrupt') throw thrown;
    const { config } = await configOf(options);
    const verdict = await verifyDamaged({ config, stateDir: stateDirOf(options) }).catch((unreadable: unknown) => {
      const { code, message } = toFault(unreadable);
      throw new Fault(code, `${message}; none of its records can be read`, { next: restoreWords, cause: unreadable });
    });
    if (verdict === undefined) throw thrown;
    if (options.json) printJson({ ...verdict, next: restoreWords });
    else {
      printVerdict(verdict);
      printText(`next: ${restoreWords}`);
    }
    return 1;
  }
}

function verifyOpened(options: CommandOptions, seen: SeenTrail | undefined): Promise<number> {
  return withApp(
    options,
    async (app) => {
      // Before it is verified, so that what is printed has been.
      const head = await app.audit.head();
      const verdict = await verdictOn(app, seen);
      const newest = verdict.ok && head !== undefined ? `${head.sequence}:${head.hash}` : undefined;
      if (options.json) printJson({ ...verdict, ...(newest === undefined ? {} : { newest }) });
      else {
        printVerdict(verdict);
        if (newest !== undefined)
          printText(`newest record: ${newest} (kept elsewhere, it shows with \`--expect\` that a later trail goes on from here)`);
      }
      return verdict.ok ? 0 : 1;
    },
    looking,
  );
}

async function verifyFile(words: readonly string[], options: CommandOptions): Promise<number> {
  const [file = ''] = operands(words, ['FILE']);
  if (options.expect !== undefined || options.since !== undefined)
    throw badUsage('`--expect` and `--since` are for the trail in the store, not for a file');
  const { signedBy, ...verdict } = await verifyExport(file, await trustedHere(options));
  if (options.json) printJson({ ...verdict, ...(signedBy === undefined ? {} : { signed_by: signedBy }) });
  else printVerdict(verdict);
  // What the file says of itself is anybody's text.
  if (signedBy !== undefined && !options.json) {
    const known = signedBy.trusted ? 'pinned here' : 'NOT pinned here: compare it with what they gave you';
    printText(`signed by ${showPlainly(signedBy.approver, 100)} with ${signedBy.key} (${known})`);
  }
  return verdict.ok ? 0 : 1;
}

function verdictOn(app: App, seen: SeenTrail | undefined) {
  return seen === undefined ? app.audit.verify() : app.audit.compare(seen);
}

/** undefined: there is nothing to compare with. @throws {Fault} `bad_usage`, `cannot_read`, `bad_export`, `bad_checkpoint` */
async function seenIn(options: CommandOptions): Promise<SeenTrail | undefined> {
  const { expect, since } = options;
  if (expect === undefined && since === undefined) return undefined;
  const points = expect === undefined ? [] : [pointOf(expect)];
  if (since === undefined) return { points, chains: [] };
  const before = await seenBefore(since, await trustedHere(options));
  return { ...before, points: [...points, ...before.points] };
}

function pointOf(text: string): ChainPoint {
  const [, sequence, hash] = /^([1-9]\d{0,14}):([a-f0-9]{64})$/.exec(text) ?? [];
  if (sequence !== undefined && hash !== undefined) return { sequence: Number(sequence), hash };
  throw badUsage(`\`--expect\` takes what \`audit verify\` printed, SEQUENCE:HASH, not \`${showPlainly(text, 80)}\``);
}

/** Keys whose signature means something here. */
async function trustedHere(options: CommandOptions): Promise<readonly ApproverKey[]> {
  const { config } = await configOf(options);
  return [...config.approvers, ...(await readApprovers(defaultConfigFile()))];
}

function printVerdict({ ok, message }: { readonly ok: boolean; readonly message: string }): void {
  printText(`${ok ? 'ok' : 'BROKEN'}: ${showPlainly(message, 1_000)}`);
}
