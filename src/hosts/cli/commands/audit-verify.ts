/** `banksman audit verify`: the trail in the store, held against what was kept of it, or an export by itself. */
import type { App, SeenTrail } from '#app/app';
import { verifyDamaged } from '#app/audit-trail';
import { readApprovers } from '#app/config-file';
import { defaultConfigFile } from '#app/paths';
import { seenInExport, verifyExport } from '#app/verify-export';
import type { ApproverKey } from '#kernel/answer';
import type { ChainPoint } from '#kernel/audit-event';
import { Fault, toFault } from '#kernel/errors';
import { showPlainly } from '#kernel/text';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { configOf, stateDirOf, withApp } from '../session.ts';

/** The store's own advice names this command: here it has been taken. */
const restoreWords =
  'keep a copy of the file, then restore a backup or move it away (a new one is made at the next start, with an empty trail)';

/** A store that is too damaged to open is looked through all the same, without writing to it. */
export async function verifyStore(options: CommandOptions): Promise<number> {
  const seen = await seenBefore(options);
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
  return withApp(options, async (app) => {
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
  });
}

export async function verifyFile(words: readonly string[], options: CommandOptions): Promise<number> {
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

/** undefined: there is nothing to compare with. @throws {Fault} `bad_usage`, `cannot_read`, `bad_export` */
async function seenBefore(options: CommandOptions): Promise<SeenTrail | undefined> {
  const { expect, since } = options;
  if (expect === undefined && since === undefined) return undefined;
  const points = expect === undefined ? [] : [pointOf(expect)];
  if (since === undefined) return { points, chains: [] };
  const exported = await seenInExport(since, await trustedHere(options));
  return { points: [...points, ...exported.points], chains: exported.chains };
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
