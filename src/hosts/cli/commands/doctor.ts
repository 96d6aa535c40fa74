/** `banksman doctor`: exit 1 when something failed. */
import type { Finding } from '#kernel/app';
import { type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { looking, stateDirOf, withApp } from '../session.ts';

const marks: Readonly<Record<Finding['state'], string>> = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' };

export async function runDoctor(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { hookFindings } = await import('#hosts/hook/install-hook');
  return withApp(
    options,
    async (app, signal) => {
      const findings = [...(await app.doctor(signal)), ...hookFindings(stateDirOf(options), process.cwd())];
      // Programs read the English alone.
      if (options.json) printJson(findings.map(({ words: _words, ...plain }) => plain));
      else
        for (const { state, topic, message, remedy } of findings)
          printText(`${marks[state]} ${topic}: ${message}${remedy === undefined ? '' : `\n         remedy: ${remedy}`}`);
      return findings.some((finding) => finding.state === 'failed') ? 1 : 0;
    },
    looking,
  );
}
