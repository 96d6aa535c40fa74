/** `banksman approvers list|create|enroll|revoke`: whose answers count on this machine. */

import { defaultConfigFile } from '#app/config/paths';
import { type ApproverControl, type ApproverEntry, withApproverControl } from '#app/people/approver-control';
import { approverName } from '#app/people/approver-key-file';
import { isForPhones, qrText } from '#app/people/qr-code';
import type { Signer } from '#kernel/approval/answer';
import { displays } from '#kernel/approval/security';
import { Fault } from '#kernel/errors';
import { formatDuration, showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText, Refusal } from '../output.ts';
import { askNewPassphrase, signIn } from '../passphrase.ts';
import { approverFileOf, configOf, stateDirOf, untilStopped } from '../session.ts';
import { type Terminal, withTerminal } from '../terminal.ts';

export async function runApprovers([verb, ...words]: readonly string[], options: CommandOptions): Promise<number> {
  if (verb === 'list') return list(words, options);
  if (verb === 'create') return create(words, options);
  if (verb === 'enroll') return enroll(words, options);
  if (verb === 'revoke') return revoke(words, options);
  throw noSuchVerb('approvers', ['list', 'create', 'enroll', 'revoke'], verb);
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const entries = await control(options, (approvers) => approvers.list());
  if (options.json) printJson(entries.map(forPrograms));
  else for (const entry of entries) printText(line(entry));
  if (entries.length === 0) printError('nobody can approve yet: `banksman approvers create NAME`, or approve in an editor window');
  return 0;
}

async function create(words: readonly string[], options: CommandOptions): Promise<number> {
  const name = approverName(operands(words, ['NAME'])[0] ?? '');
  const entry = await atTerminal('making an approver', options, async (approvers, terminal) => {
    const known = await approvers.list();
    if (known.some((other) => other.name === name))
      throw new Fault('approver_exists', `there is an approver named \`${name}\` already`, {
        audience: 'user',
        next: 'choose another name',
      });
    const voucher = await voucherAmong({ known, isRoots: approvers.isRoots }, terminal, options);
    const passphrase = await askNewPassphrase(terminal, name);
    return approvers.create({ name, passphrase, ...(voucher === undefined ? {} : { voucher }) });
  });
  if (options.json) printJson(forPrograms(entry));
  else printText(line(entry));
  for (const sentence of afterCreate(entry, approverFileOf(options))) printError(sentence);
  return entry.pinned === null ? 3 : 0;
}

/** Who vouches for another approver; undefined where nobody can, or nobody has to. */
async function voucherAmong(
  { known, isRoots }: { readonly known: readonly ApproverEntry[]; readonly isRoots: boolean },
  terminal: Terminal,
  options: CommandOptions,
): Promise<Signer | undefined> {
  const file = approverFileOf(options);
  const pinned = known.filter((entry) => entry.pinned !== null && (entry.pinnedIn ?? file) === file);
  if (isRoots) return undefined;
  if (pinned.length === 0) {
    terminal.say('This is the FIRST approver here: nobody has to vouch for it, and whoever knows its passphrase can approve everything.\n');
    return undefined;
  }
  if (!pinned.some((entry) => entry.local && entry.pinnedIn !== undefined)) return undefined;
  terminal.say('Another approver has to vouch for the new one.\n');
  return signIn(terminal, options);
}

function afterCreate({ name, key, pinned }: ApproverEntry, file: string): readonly string[] {
  if (pinned !== null) {
    return [
      `approver \`${name}\` is pinned in ${file} from now on, and that is in the audit trail`,
      'its passphrase cannot be recovered; whoever knows it and can read this user’s files can approve',
    ];
  }
  return [
    `approver \`${name}\` is NOT pinned, so it can approve nothing yet: others are pinned, and none of them has a key here to vouch for it`,
    `go on approving where they are (the editor window), or add it by hand to \`approvers\` in ${file}: ${JSON.stringify({ name, key })}`,
  ];
}

/** A passkey, on a phone or in a browser: a link that is good once, and a fingerprint that both sides show. */
async function enroll(words: readonly string[], options: CommandOptions): Promise<number> {
  const name = approverName(operands(words, ['NAME'])[0] ?? '');
  const display = displays.find((known) => known === options.display);
  if (display === undefined)
    throw badUsage(
      `say with \`--display ${displays.join('|')}\` where the card will be read: \`outside\` is a phone, or another user’s browser`,
    );
  const origin = options.origin ?? (await configOf(options)).config.page?.origin;
  if (origin === undefined)
    throw badUsage('the configuration names no page (`page`); say with `--origin` where one is: `https://banksman.lan`');
  const { person = name } = options;
  const made = await untilStopped((signal) =>
    withTerminal('enrolling a passkey', signal, (terminal) =>
      control(options, async (approvers) => {
        const voucher = await voucherAmong({ known: await approvers.list(), isRoots: approvers.isRoots }, terminal, options);
        return approvers.enroll({
          ...{ name, person, display, origin, signal, ...(voucher === undefined ? {} : { voucher }) },
          onLink: (address, expiresAt) =>
            terminal.say(
              `open this once, within ${formatDuration(expiresAt - Date.now())}, on the device that has the passkey:\n\n  ${address}\n\n${isForPhones(address) ? `${qrText(address)}\n\n` : ''}waiting…\n`,
            ),
          confirm: async (fingerprint) =>
            (await terminal.ask(`fingerprint: ${fingerprint}\ndoes the page show the same? Type \`yes\` to pin it: `)).trim() === 'yes',
        });
      }),
    ),
  );
  if (made === undefined) throw new Refusal('link_expired', 'nobody opened the link in time; nothing is pinned');
  if (options.json) printJson(forPrograms(made));
  else printText(line(made));
  printError(afterEnroll(made, approverFileOf(options)));
  return made.pinned === null ? 3 : 0;
}

function afterEnroll({ name, pinned, ...rest }: ApproverEntry, file: string): string {
  if (pinned !== null)
    return `approver \`${name}\` is pinned in ${file} from now on, and that is in the audit trail; enrol a second passkey, in case this one is lost`;
  const { key, person, passkey } = rest;
  return `approver \`${name}\` is NOT pinned: others are, and none of them has a key here to vouch; add it by hand to \`approvers\` in ${file}: ${JSON.stringify({ name, key, person, passkey })}`;
}

async function revoke(words: readonly string[], options: CommandOptions): Promise<number> {
  const [named = ''] = operands(words, ['NAME']);
  const entry = await atTerminal('revoking an approver', options, async (approvers, terminal) => {
    const found = entryNamed(named, await approvers.list());
    // A key that is pinned nowhere counts for nothing: anybody may throw it away.
    const wantsVoucher = found.pinnedIn === approverFileOf(options) && !approvers.isRoots;
    await approvers.revoke(found, wantsVoucher ? await signIn(terminal, options) : undefined);
    return found;
  });
  if (options.json) printJson({ ...forPrograms(entry), revoked: true });
  else printText(`revoked ${showPlainly(entry.name, 100)} (${entry.keyId})`);
  return 0;
}

function entryNamed(named: string, entries: readonly ApproverEntry[]): ApproverEntry {
  const found = entries.filter((entry) => entry.name === named || entry.keyId === named);
  const [entry] = found;
  if (entry === undefined) {
    throw new Fault('no_such_approver', `no approver is named \`${showPlainly(named, 100)}\``, {
      audience: 'user',
      next: 'see `banksman approvers list`',
    });
  }
  if (found.length > 1) throw badUsage(`several approvers are named so: give one of the ids ${found.map(({ keyId }) => keyId).join(', ')}`);
  return entry;
}

function atTerminal<T>(
  what: string,
  options: CommandOptions,
  work: (approvers: ApproverControl, terminal: Terminal) => Promise<T>,
): Promise<T> {
  return untilStopped((signal) => withTerminal(what, signal, (terminal) => control(options, (approvers) => work(approvers, terminal))));
}

async function control<T>(options: CommandOptions, work: (approvers: ApproverControl) => Promise<T>): Promise<T> {
  const { config } = await configOf(options);
  const places = { configFile: approverFileOf(options), machineFile: defaultConfigFile() };
  return withApproverControl({ config, stateDir: stateDirOf(options), ...places }, work);
}

function forPrograms({ name, key, keyId, pinned, local, person, passkey }: ApproverEntry) {
  const more = passkey === undefined ? {} : { origin: passkey.origin, display: passkey.display, enrolled_at: passkey.enrolledAt };
  return { name, key, key_id: keyId, pinned, local, ...(person === undefined ? {} : { person }), ...more };
}

const places = { machine: 'pinned', configuration: 'pinned in the named configuration only' } as const;

function line({ name, keyId, pinned, local, person, passkey }: ApproverEntry): string {
  const counts = pinned === null ? 'NOT PINNED, counts for nothing' : places[pinned];
  const where = passkey === undefined ? '' : `, passkey read ${passkey.display === 'outside' ? 'outside the account' : 'in the account'}`;
  const of = `${where}${person === undefined ? '' : `, of ${showPlainly(person, 60)}`}`;
  return `${showPlainly(name, 100).padEnd(24)} ${keyId}  ${counts}${local ? ', key on this machine' : ''}${of}`;
}
