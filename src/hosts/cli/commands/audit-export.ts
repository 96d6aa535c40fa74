/** `banksman audit export`. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Signer } from '#app/app';
import { exportAudit } from '#app/audit-export';
import { Fault, reasonOf } from '#kernel/errors';
import { showPlainly } from '#kernel/text';
import { badUsage, type CommandOptions } from '../command-line.ts';
import { printError } from '../output.ts';
import { signIn } from '../passphrase.ts';
import { configOf, stateDirOf, untilStopped } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function exportTrail(options: CommandOptions): Promise<number> {
  if ((options.format ?? 'jsonl') !== 'jsonl')
    throw badUsage(`\`--format\` must be jsonl, not \`${showPlainly(options.format ?? '', 40)}\``);
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
