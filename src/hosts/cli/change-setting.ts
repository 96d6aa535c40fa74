/** Changes what people set for everyone: at a terminal, signed by an approver. */
import type { SecuritySettings, SettingResult, Signer } from '#app/app';
import type { CommandOptions } from './command-line.ts';
import { printJson, printText } from './output.ts';
import { signIn } from './passphrase.ts';
import { untilStopped, withApp } from './session.ts';
import { withTerminal } from './terminal.ts';

/**
 * @param what for people: `setting the security level`
 * @returns 0 done, 1 bad input or nothing there, 2 refused
 */
export function changeSetting(
  what: string,
  options: CommandOptions,
  change: (security: SecuritySettings, signer: Signer) => Promise<SettingResult>,
): Promise<number> {
  return untilStopped((signal) =>
    withTerminal(what, signal, (terminal) =>
      withApp(options, async (app) => {
        const { ok, code, message } = await change(app.security, await signIn(terminal, options));
        if (options.json) printJson({ ok, code, message });
        else printText(message);
        if (ok) return 0;
        return code === 'key_not_trusted' ? 2 : 1;
      }),
    ),
  );
}
