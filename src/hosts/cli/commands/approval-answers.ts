/** `banksman approvals approve|deny|revoke`: a person's answer. */
import type { App, ReviewCard, Signer } from '#app/app';
import { type CodeVerdict, redeemOneTimeCode } from '#app/one-time-codes';
import { Fault } from '#kernel/errors';
import type { RequestRecord } from '#kernel/request';
import { commandHint } from '../command-hint.ts';
import type { CommandOptions } from '../command-line.ts';
import { approverHere, unlock } from '../passphrase.ts';
import { Refusal } from '../refusal.ts';
import { noSuchRequest, personHere, reportAnswer, requestId } from '../request-text.ts';
import { stateDirOf, untilStopped, withApp } from '../session.ts';
import { type Terminal, withTerminal } from '../terminal.ts';

/** With the code from `show`, and an approver's passphrase. */
export async function approveRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('approving', options, async (app, terminal) => {
    const record = await app.approvals.get(id);
    if (record === undefined) throw noSuchRequest(id, options);
    // Looked for first: a code must not be spent where nobody could sign.
    const key = await approverHere(options);
    // What is on the card now is what `approve` compares with: a record that is swapped from here on is refused.
    const card = app.approvals.card(record);
    const isOpen = record.status === 'pending' && !card.tampered;
    if (isOpen) await confirm(record, card, options, terminal);
    else terminal.say(`${card.title}\n\n${card.detail}\n\n`);
    const signer = isOpen ? await unlock(terminal, key) : withoutPassphrase(key);
    return reportAnswer(await app.approvals.approve(id, signer), id, options);
  });
}

/** For an answer that says why nothing can be approved: nobody types a passphrase for that. */
function withoutPassphrase({ name, publicKey }: Awaited<ReturnType<typeof approverHere>>): Signer {
  const sign = () => Promise.reject(new Fault('not_confirmed', 'this was never confirmed, so it is not signed', { audience: 'bug' }));
  return { approver: `user:${name}`, publicKey, sign };
}

/** Needs no passphrase: it can only stop something. The message reaches the model. */
export async function denyRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('denying', options, async (app) =>
    reportAnswer(await app.approvals.deny(id, personHere(), options.message), id, options),
  );
}

/** Takes an approval back before it is used. */
export async function revokeRequest(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return atTerminal('revoking', options, async (app) =>
    reportAnswer(await app.approvals.revoke(id, personHere(), options.message), id, options),
  );
}

/** The terminal comes first: without one nothing is opened. */
function atTerminal(what: string, options: CommandOptions, work: (app: App, terminal: Terminal) => Promise<number>): Promise<number> {
  return untilStopped((signal) => withTerminal(what, signal, (terminal) => withApp(options, (app) => work(app, terminal))));
}

async function confirm(record: RequestRecord, card: ReviewCard, options: CommandOptions, terminal: Terminal): Promise<void> {
  terminal.say(`${card.title}\n\n${card.detail}\n\n`);
  const { id, digest } = record;
  const code = options.code ?? (await terminal.ask(`one-time code (from \`${showHint(id, options)}\`): `));
  const verdict = await redeemOneTimeCode(stateDirOf(options), { requestId: id, digest }, code.trim());
  if (!verdict.ok) throw wrongCode(verdict, id, showHint(id, options));
  const { typeToConfirm } = card;
  if (typeToConfirm === undefined) return;
  if ((await terminal.ask(`type \`${typeToConfirm}\` to approve it once: `)).trim() !== typeToConfirm)
    throw new Refusal('not_confirmed', `not approved, ${id} stays pending`, `start again with \`${showHint(id, options)}\``);
}

function showHint(id: string, options: CommandOptions): string {
  return commandHint(['approvals', 'show', id], options);
}

function wrongCode(verdict: Exclude<CodeVerdict, { ok: true }>, id: string, hint: string): Refusal {
  const show = `get a new one with \`${hint}\``;
  if (verdict.why === 'none') return new Refusal('no_code', `there is no one-time code for ${id} as it is now`, show);
  if (verdict.why === 'expired') return new Refusal('code_expired', 'the one-time code has expired', show);
  if (verdict.why !== 'wrong') return new Refusal('code_void', 'that was one wrong code too many; the right one is void now', show);
  const tries = verdict.triesLeft === 1 ? '1 try' : `${verdict.triesLeft} tries`;
  return new Refusal('wrong_code', `that is not the one-time code of ${id}; ${tries} left`);
}
