/** Passphrases: a new one, typed twice, and the one of an approver who is to sign. */

import { defaultConfigFile } from '#app/config/paths';
import { localApprovers, unlockApprover } from '#app/people/approver-control';
import type { Signer } from '#kernel/approval/answer';
import { badUsage, type CommandOptions } from './command-line.ts';
import { Refusal } from './output.ts';
import { approverFileOf } from './session.ts';
import type { Terminal } from './terminal.ts';

/** In characters. Whoever has the key's file can guess at leisure; each guess costs 128 MiB and half a second. */
export const shortestPassphrase = 12;
const fewestDifferent = 6;
const tries = 3;

/** What is wrong with a new passphrase, for the person; undefined: nothing. */
export function flawOfPassphrase(text: string): string | undefined {
  const characters = Array.from(text.normalize('NFC'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'it holds a key that is no character (an arrow, a tab)';
  if (characters.length < shortestPassphrase)
    return `it has ${characters.length} characters, at least ${shortestPassphrase} are needed; four unrelated words are good`;
  if (new Set(characters).size < fewestDifferent) return `it has fewer than ${fewestDifferent} different characters`;
  return undefined;
}

/** @throws {Refusal} `bad_passphrase`, `cancelled` */
export async function askNewPassphrase(terminal: Terminal, name: string): Promise<string> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const first = await terminal.askSecret(`new passphrase for ${name} (at least ${shortestPassphrase} characters, not shown): `);
    const flaw = flawOfPassphrase(first);
    if (flaw === undefined && (await terminal.askSecret('the same again: ')) === first) return first;
    terminal.say(`${flaw === undefined ? 'the two differ' : `that will not do: ${flaw}`}; try again\n`);
  }
  throw new Refusal('bad_passphrase', 'no passphrase was set; nothing was changed');
}

type LockedKey = Awaited<ReturnType<typeof localApprovers>>[number];

/**
 * Whose key is to sign, before anything is asked or used up for it.
 * @param options `as`: the approver's name; needed where several have a key here
 * @throws {Refusal} `no_local_approver`
 */
export async function approverHere(options: CommandOptions): Promise<LockedKey> {
  const named = options.as;
  const configFile = approverFileOf(options);
  const known = await localApprovers([...new Set([configFile, defaultConfigFile()])]);
  const keys = named === undefined ? known : known.filter(({ name }) => name === named);
  const [key] = keys;
  if (key === undefined)
    throw noLocalApprover(
      known.map(({ name }) => name),
      named,
      configFile,
    );
  if (keys.length > 1)
    throw badUsage(`several approvers have a key here: say which with \`--as ${keys.map(({ name }) => name).join('|')}\``);
  return key;
}

/** @throws {Refusal} `wrong_passphrase`, `cancelled` */
export async function unlock(terminal: Terminal, key: LockedKey): Promise<Signer> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const signer = await unlockApprover(key, await terminal.askSecret(`passphrase of approver ${key.name} (not shown): `));
    if (signer !== undefined) return signer;
    terminal.say('that is not the passphrase\n');
  }
  throw new Refusal('wrong_passphrase', `that was not ${key.name}’s passphrase; nothing was changed`);
}

/** An approver of this machine, once their passphrase has been typed. @throws {Refusal} as `approverHere` and `unlock` */
export async function signIn(terminal: Terminal, options: CommandOptions): Promise<Signer> {
  return unlock(terminal, await approverHere(options));
}

function noLocalApprover(known: readonly string[], named: string | undefined, configFile: string): Refusal {
  if (named !== undefined && known.length > 0)
    return new Refusal('no_local_approver', `no pinned approver named \`${named}\` has a key here; there are ${known.join(', ')}`);
  return new Refusal(
    'no_local_approver',
    `no approver who is pinned in ${configFile} has a key on this machine`,
    'approve in an editor window, or make an approver with `banksman approvers create NAME`',
  );
}
