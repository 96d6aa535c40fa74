/** `banksman config show|agree`: what of the machine's configuration waits for a person, and agreeing to it. */
import type { App, ConfigAgreement } from '#kernel/app';
import { Fault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { signIn } from '../passphrase.ts';
import { untilStopped, withApp } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function runConfig([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  if (verb === 'show') return show(options);
  if (verb === 'agree') return agree(options);
  throw badUsage(`\`config\` takes \`show\` or \`agree\`, not \`${verb ?? 'nothing'}\``);
}

/** @returns 0 nothing waits, 3 something does */
async function show(options: CommandOptions): Promise<number> {
  return withApp(options, async (app) => {
    const waiting = await agreementOf(app).pending();
    if (options.json) printJson({ waiting });
    else for (const line of waiting) printText(showPlainly(line, 1_000));
    if (!options.json)
      printError(
        waiting.length === 0
          ? 'nothing waits: all of the configuration counts'
          : 'this does not count until an approver agrees: `banksman config agree`',
      );
    return waiting.length === 0 ? 0 : 3;
  });
}

/** @returns 0 done or nothing to do, 2 refused */
function agree(options: CommandOptions): Promise<number> {
  return untilStopped((signal) =>
    withTerminal('agreeing to the configuration', signal, (terminal) =>
      withApp(options, async (app) => {
        const agreement = agreementOf(app);
        const waiting = await agreement.pending();
        if (waiting.length === 0) terminal.say('Nothing waits. With your passphrase you agree to the configuration as it is now.\n');
        else
          terminal.say(
            `This makes the configuration looser, and counts from now on if you agree:\n${waiting.map((line) => `  ${showPlainly(line, 1_000)}\n`).join('')}`,
          );
        const { ok, code, message } = await agreement.agree(waiting, await signIn(terminal, options));
        if (options.json) printJson({ ok, code, message });
        else printText(message);
        return ok ? 0 : 2;
      }),
    ),
  );
}

/** Only the machine's own file is agreed to: one that is named on the command line counts as it is, for that call. */
function agreementOf({ agreement }: App): ConfigAgreement {
  if (agreement !== undefined) return agreement;
  throw new Fault('no_agreement', 'only the machine’s own configuration is agreed to', { audience: 'user', next: 'leave `--config` out' });
}
