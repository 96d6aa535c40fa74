/** What a change of a configuration asks for, and what is refused whatever the guest is. */
import { badParameters, failed } from '../api-error.ts';
import type { ApiCall } from '../api-method.ts';
import { guestOptions } from '../declared/read-tables.ts';
import { digestOf } from '../guest-config.ts';
import { specOf } from '../parameter.ts';
import type { GuestKind, GuestState } from '../state.ts';
import { TaskError } from '../task-engine.ts';
import type { ConfigAsk } from './config-rights.ts';

/** What a request asks to change. */
export interface Change {
  readonly ask: ConfigAsk;
  readonly values: Map<string, string>;
  readonly deletes: readonly string[];
  readonly reverts: readonly string[];
}

/** Parameters that are no options. */
export const directives = new Set([
  'node',
  'vmid',
  'digest',
  'skiplock',
  'delete',
  'revert',
  'force',
  'background_delay',
  'import-working-storage',
]);

export function changeOf(call: ApiCall, kind: GuestKind): Change {
  const { parameters } = call;
  const names = parameters.names().filter((name) => !directives.has(name));
  const values = new Map(names.map((name) => [name === 'cdrom' ? 'ide2' : name, parameters.text(name) ?? '']));
  const deletes = parameters.list('delete').map((name) => (name === 'cdrom' ? 'ide2' : name));
  const change = { ask: { call, kind, vmid: parameters.integer('vmid') ?? 0 }, values, deletes, reverts: parameters.list('revert') };
  if (values.size === 0 && !parameters.has('delete') && !parameters.has('revert')) throw failed('no options specified');
  return change;
}

/** What is asked twice, or of an option that there is not. @throws {ApiError} 400 */
export function checkNames({ ask, values, deletes, reverts }: Change): void {
  const isKnown = (option: string) => specOf(guestOptions[ask.kind], option) !== undefined;
  for (const option of reverts) {
    if (!isKnown(option)) throw badParameters({ revert: `unknown option '${option}'` });
    const name = ask.kind === 'qemu' ? 'delete' : 'revert';
    const text =
      ask.kind === 'qemu'
        ? `you can't use '-${option}' and -revert ${option}' at the same time`
        : `you can't use '-${option}' and '-revert ${option}' at the same time`;
    if (values.has(option)) throw badParameters({ [name]: text });
  }
  for (const option of deletes) checkDelete({ ask, values, deletes, reverts }, option, isKnown(option));
}

function checkDelete({ ask, values, reverts }: Change, option: string, known: boolean): void {
  const isVm = ask.kind === 'qemu';
  if (!isVm && !known) throw badParameters({ delete: `unknown option '${option}'` });
  if (values.has(option)) throw badParameters({ delete: `you can't use '-${option}' and -delete ${option}' at the same time` });
  if (reverts.includes(option)) {
    if (isVm) throw badParameters({ revert: `you can't use '-delete ${option}' and -revert ${option}' at the same time` });
    throw badParameters({ delete: `you can't use '-delete ${option}' and '-revert ${option}' at the same time` });
  }
  if (!known) throw badParameters({ delete: `unknown option '${option}'` });
}

/** @throws {ApiError} 500 */
export function checkState(call: ApiCall, guest: GuestState, mismatch: string): void {
  const digest = call.parameters.text('digest') ?? '';
  const check = () => {
    if (digest !== '' && digest !== digestOf(guest)) throw failed(mismatch);
  };
  if (guest.kind === 'qemu') check();
  const lock = guest.config.get('lock');
  if (lock !== undefined) throw failed(`${guest.kind === 'qemu' ? 'VM' : 'CT'} is locked (${lock})`);
  if (guest.kind === 'lxc') check();
}

/** PVE's two ways to say that the file is not the one that was read. */
export const changedByOther = {
  qemu: 'checksum mismatch (file change by other user?)',
  lxc: 'detected modified configuration - file changed by other user? Try again.',
} as const;

/** A refusal in a worker is the task's end, not an answer. */
export function asTaskError<T>(act: () => T): T {
  try {
    return act();
  } catch (thrown) {
    if (!(thrown instanceof Error) || thrown instanceof TaskError) throw thrown;
    throw new TaskError(thrown.message.trimEnd());
  }
}

export function refuseProtected(guest: GuestState, what: string): void {
  if (guest.config.get('protection') === 1) throw failed(`${what} - protection mode enabled`);
}
