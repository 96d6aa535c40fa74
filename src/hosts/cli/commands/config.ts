/**
 * `banksman config show|agree|protect|schema`: what of the machine's configuration waits for a person, agreeing to it, what it should
 * protect, and what may stand in it.
 */

import { addProtected } from '#app/config/config-file';
import { defaultConfigFile } from '#app/config/paths';
import type { App, ConfigAgreement, ProtectionSuggestion } from '#kernel/app';
import { Fault } from '#kernel/errors';
import { english } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { signIn } from '../passphrase.ts';
import { looking, untilStopped, withApp } from '../session.ts';
import { withTerminal } from '../terminal.ts';

export async function runConfig([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'protect') return protect(words, options);
  operands(words, []);
  if (verb === 'show') return show(options);
  if (verb === 'agree') return agree(options);
  if (verb === 'schema') return schema();
  throw noSuchVerb('config', ['show', 'agree', 'protect', 'schema'], verb);
}

/** Whoever runs it can write the file as well: it only makes things stricter. @returns 0 nothing is left, 3 something could be protected */
async function protect(words: readonly string[], options: CommandOptions): Promise<number> {
  return withApp(options, async (app, signal) => {
    const suggested = await suggestionsOf(app, signal);
    const chosen = words.includes('all') ? suggested : words.map((word) => found(word, suggested));
    if (chosen.length > 0) await addProtected(defaultConfigFile(), chosen);
    const left = suggested.filter((one) => !chosen.includes(one));
    if (options.json) printJson({ protected: chosen, suggested: left });
    else for (const line of [...chosen.map((one) => `protected: ${inWords(one)}`), ...left.map(inWords)]) printText(line);
    if (!options.json && left.length === 0) printError('nothing else looks as if it should be protected');
    if (!options.json && left.length > 0)
      printError('not protected: name some as they stand here (`guest:103`, `node:pve`), or `all`; no tool changes what is protected');
    return left.length === 0 ? 0 : 3;
  });
}

function found(word: string, suggested: readonly ProtectionSuggestion[]): ProtectionSuggestion {
  const one = suggested.find(({ kind, name }) => `${kind}:${name}` === word);
  if (one === undefined) throw badUsage(`\`${word}\` is nothing that is suggested; \`banksman config protect\` lists that`);
  return one;
}

function inWords({ cluster, kind, name, called, why }: ProtectionSuggestion): string {
  return showPlainly(`${kind}:${name}${called === undefined ? '' : ` (${called})`} of ${cluster} ${english(why)}`, 300);
}

/** In ms. */
const lookMs = 15_000;

function suggestionsOf({ suggestions }: App, caller: AbortSignal): Promise<readonly ProtectionSuggestion[]> {
  if (suggestions !== undefined) return suggestions(AbortSignal.any([caller, AbortSignal.timeout(lookMs)]));
  throw new Fault('no_suggestions', 'only the machine’s own configuration is written to', {
    audience: 'user',
    next: 'leave `--config` out; with the service root writes `protected`, and `banksman doctor` says what into it',
  });
}

/** @returns 0 nothing waits, 3 something does */
async function show(options: CommandOptions): Promise<number> {
  return withApp(
    options,
    async (app) => {
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
    },
    looking,
  );
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

async function schema(): Promise<number> {
  const { configJsonSchema } = await import('#app/config/config');
  printJson(configJsonSchema());
  return 0;
}

/** Only the machine's own file is agreed to: one that is named on the command line counts as it is, for that call. */
function agreementOf({ agreement }: App): ConfigAgreement {
  if (agreement !== undefined) return agreement;
  throw new Fault('no_agreement', 'only the machine’s own configuration is agreed to', { audience: 'user', next: 'leave `--config` out' });
}
