/** What the page's script may ask, by name. */

import type { App, Approvals, ControlResult, SettingResult } from '#kernel/app';
import type { AnswerResult, ReviewCard } from '#kernel/approval/answer';
import { type EnrolRefusal, type PasskeyDesk, parsePageChange } from '#kernel/approval/passkey';
import { requestIdPattern } from '#kernel/approval/request';
import { faultMessage, toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import { mostSteps } from '#kernel/plans/plan';
import { isPlanControl, planIn } from '#kernel/plans/plan-progress';
import { asListed, inWords, joined, type Language, type Message, plural, say, told, wordsOf } from '#kernel/text/message';
import { demoButton } from './demo-passkey.ts';
import { Refused, textIn } from './door.ts';
import { capital, drawnView, html, type Markup, marked, nothing, type View } from './markup.ts';
import { requestView } from './request-view.ts';
import type { Session, Sessions } from './sessions.ts';
import { settingsView } from './settings-view.ts';
import { displayInWords, listView, meView, plainName } from './views.ts';

export interface PageContext {
  readonly approvals: Pick<Approvals, 'list' | 'get' | 'card' | 'deny'>;
  readonly plans: Pick<App['plans'], 'get' | 'underWay' | 'control' | 'without'>;
  readonly security: Pick<App['security'], 'pause'>;
  readonly desk: PasskeyDesk;
  readonly sessions: Sessions;
  readonly isDemo: boolean;
}

/** SECURITY: `known` needs the browser's own key. Nothing here approves but `finish`, and that by what a passkey signed. */
type Action =
  | { stranger(body: JsonObject, context: PageContext): Promise<object> }
  | { known(body: JsonObject, context: PageContext, session: Session): Promise<object> };

/** What an action found, as the browser gets it: in its person's language. What a store or a thread says in other words stays English (`wordsOf`). */
export function foundIn(found: object, language: Language): object {
  if ('main' in found) return drawnView(found as View, language);
  const { view: shown, message, words, ...rest } = found as { readonly view?: View; readonly message?: string; readonly words?: Message };
  return {
    ...rest,
    ...(shown === undefined ? {} : { view: drawnView(shown, language) }),
    ...(message === undefined ? {} : { message: inWords(words === undefined ? asListed(message) : wordsOf(message, words), language) }),
  };
}

const mostListed = 100;

export const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['nonce', { stranger: async (_, { sessions }) => ({ nonce: sessions.nonce() }) }],
  [
    'session',
    {
      stranger: async (body, { sessions }) => ({
        token: await sessions.open({
          device: textIn(body, 'device', 500),
          nonce: textIn(body, 'nonce', 100),
          signature: textIn(body, 'signature', 200),
        }),
      }),
    },
  ],
  ['view', { known: (body, context, session) => view(textIn(body, 'path', 100), context, session) }],
  ['begin', { known: begin }],
  ['finish', { known: finish }],
  ['change', { known: beginChange }],
  ['changed', { known: finishChange }],
  ['deny', { known: (body, { approvals }, session) => approvals.deny(requestIn(body), personOf(session), ...wordsIn(body)) }],
  ['deny-many', { known: denyMany }],
  // Stricter, so no passkey is asked for; what loosens goes by `change`.
  ['pause-all', { known: (body, { security }, session) => security.pause(personOf(session), ...wordsIn(body)) }],
  ['plan', { known: controlPlan }],
  ['strike', { known: strike }],
  ['enrol', { stranger: beginEnrol }],
  ['enrolled', { stranger: finishEnrol }],
]);

async function view(path: string, context: PageContext, session: Session): Promise<View> {
  const { approvals, desk, plans } = context;
  const now = Date.now();
  if (path === '/') return waiting(context, now);
  if (path === '/settings') return settingsView(await desk.settings(), { approver: session.approver, now });
  if (path === '/me') return meView(session.approver, await desk.approvers());
  const card = await approvals.card(path.replace('/r/', ''));
  if (card === undefined) return noSuchRequest();
  const plan = planIn(card.record) === undefined ? undefined : await plans.get(card.id);
  const shown = { card: { ...card, ...sameToType(session, card) }, approver: session.approver, now, origin: desk.origin };
  return requestView({ ...shown, ...(plan === undefined ? {} : { plan }) });
}

async function waiting({ approvals, desk, plans }: PageContext, now: number): Promise<View> {
  const { records, cursor } = await approvals.list({ statuses: ['pending'], limit: mostListed });
  const waits = await Promise.all(records.map(async (record) => (await approvals.get(record.id)) ?? record));
  const [{ configuration, level }, running] = await Promise.all([desk.settings(), plans.underWay()]);
  return listView({
    ...{ records: waits.filter(({ status }) => status === 'pending'), more: cursor !== undefined, running, now },
    held: configuration?.waiting.length ?? 0,
    ...(level.paused === undefined ? {} : { paused: level.paused }),
  });
}

function noSuchRequest(): View {
  const words = say`There is no such request, or it is no longer kept.`;
  return {
    title: say`No such request`,
    summary: words,
    main: html`<h1>${say`No such request`}</h1><p>${words}</p><p><a href="/">${say`All that waits`}</a></p>`,
  };
}

/** Drawn anew while it is read, the card wants the same code. */
function sameToType({ toType }: Session, { id, record, typeToConfirm: fresh }: ReviewCard): { typeToConfirm?: string } {
  if (fresh === undefined) return {};
  const key = `${id} ${record.digest}`;
  const typeToConfirm = toType.get(key) ?? fresh;
  toType.set(key, typeToConfirm);
  return { typeToConfirm };
}

async function begin(body: JsonObject, { desk }: PageContext, session: Session): Promise<object> {
  const requestId = requestIn(body);
  const digest = textIn(body, 'digest', 64);
  const wanted = session.toType.get(`${requestId} ${digest}`);
  if (wanted !== undefined && textIn(body, 'typed', 300).trim() !== wanted) {
    return { ok: false, code: 'not_typed', ...told(say`not approved: type \`${wanted}\` first, exactly so`) };
  }
  const begun = await desk.beginAnswer({ requestId, digest, decision: 'approve', approver: session.approver.name });
  if ('options' in begun) session.begun.add(begun.options.challenge);
  return begun;
}

async function beginChange(body: JsonObject, { desk }: PageContext, session: Session): Promise<object> {
  const change = parsePageChange(body['change']);
  if (change === undefined) throw new Refused(400, 'bad_body', say`\`change\` is none that can be made here`);
  const begun = await desk.beginChange(change, session.approver.name);
  if ('options' in begun) session.begun.add(begun.options.challenge);
  return begun;
}

async function finishChange(body: JsonObject, { desk }: PageContext, session: Session): Promise<SettingResult> {
  takeOwn(body['assertion'], session);
  return desk.finishChange(body['assertion']);
}

async function finish(body: JsonObject, { desk }: PageContext, session: Session): Promise<AnswerResult> {
  takeOwn(body['assertion'], session);
  return desk.finishAnswer(body['assertion']);
}

/** SECURITY: a challenge is answered by the browser that asked for it, whoever else got hold of what the passkey signed. @throws {Refused} 403 */
function takeOwn(assertion: unknown, { begun }: Session): void {
  const challenge = challengeIn(assertion);
  if (challenge !== undefined && begun.delete(challenge)) return;
  throw new Refused(403, 'challenge_over', say`this browser did not ask for that, or it was answered already: look at it again`);
}

function challengeIn(assertion: unknown): string | undefined {
  const response = isJsonObject(assertion) ? assertion['response'] : undefined;
  const text = isJsonObject(response) ? response['clientDataJSON'] : undefined;
  if (typeof text !== 'string') return undefined;
  try {
    const data: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const challenge = isJsonObject(data) ? data['challenge'] : undefined;
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    // No JSON: no passkey's client made it.
    return undefined;
  }
}

/** What stood on the page, by id: what was asked meanwhile waits on. */
async function denyMany(body: JsonObject, { approvals }: PageContext, session: Session): Promise<object> {
  const ids = body['requests'];
  if (!Array.isArray(ids) || ids.length > mostListed || !ids.every((id) => typeof id === 'string' && requestIdPattern.test(id)))
    throw new Refused(400, 'bad_body', say`\`requests\` must be ids of requests`);
  const results = await Promise.allSettled((ids as string[]).map((id) => approvals.deny(id, personOf(session), ...wordsIn(body))));
  return denialsInWords(results);
}

/** A store that fails in between leaves some denied and some not: both are said. @throws what all of them failed by */
export function denialsInWords(
  results: readonly PromiseSettledResult<{ readonly ok: boolean }>[],
): ControlResult & { readonly code: string } {
  const denied = results.filter((result) => result.status === 'fulfilled' && result.value.ok).length;
  const failed = results.filter((result) => result.status === 'rejected');
  const ended = results.length - denied - failed.length;
  const [first] = failed;
  if (first !== undefined && failed.length === results.length) throw first.reason;
  const fault = first === undefined ? undefined : toFault(first.reason);
  const parts = [
    plural(denied, say`denied 1 request`, say`denied ${denied} requests`),
    ...(ended === 0 ? [] : [say`${ended} had ended before`]),
    ...(first === undefined ? [] : [say`${failed.length} could not be denied and may still wait: ${faultMessage(first.reason)}`]),
  ];
  return { ok: denied === results.length, code: fault?.code ?? 'denied', ...told(joined(parts, '; ')) };
}

async function controlPlan(body: JsonObject, { plans }: PageContext, session: Session): Promise<ControlResult> {
  const control = textIn(body, 'control', 20);
  if (!isPlanControl(control)) throw new Refused(400, 'bad_body', say`\`control\` must be pause or stop`);
  return plans.control(requestIn(body), control, personOf(session));
}

/** What is left of a plan is a question of its own: `open` is where it is read and answered. */
async function strike(body: JsonObject, { plans }: PageContext, session: Session): Promise<object> {
  const steps = body['steps'];
  if (!Array.isArray(steps) || steps.length > mostSteps || !steps.every((step) => Number.isInteger(step)))
    throw new Refused(400, 'bad_body', say`\`steps\` must be numbers of steps`);
  const { status, code, message, request_id: left } = await plans.without(requestIn(body), steps as number[], personOf(session));
  if (status === 'pending' && left !== undefined) return { ok: true, code, message, open: `/r/${left}` };
  return { ok: false, code, ...told(say`nothing was struck: ${asListed(message)}`) };
}

async function beginEnrol(body: JsonObject, { desk, isDemo }: PageContext): Promise<{ readonly view: View; readonly options?: object }> {
  const begun = await desk.beginEnrol(textIn(body, 'link', 200));
  if (!begun.ok) return { view: refusedView(begun) };
  const { options, name, person, display } = begun;
  const compare = isDemo
    ? nothing
    : html` ${say`Then compare the fingerprint that this page shows with the one at the command that gave you the link.`}`;
  const title = say`Make a passkey for ${plainName(person)}`;
  const main = html`<h1>${title}</h1>
<p>${marked(say`This device will then approve as **${plainName(person)}** (passkey \`${plainName(name)}\`), on a display ${displayInWords[display]}.`)}</p>
<p>${say`Your device asks for your finger, face or PIN.`}${compare}</p>
<div class="buttons"><button type="button" class="primary" data-act="enrol" id="enrol">${say`Make the passkey on this device`}</button>${demoButton(isDemo)}</div>
<p class="quiet">${isDemo ? say`The link is good once.` : say`The link is good once, for ten minutes.`}</p>`;
  return { options, view: { title: say`Enrol`, summary: say`${title}.`, main } };
}

async function finishEnrol(body: JsonObject, { desk, isDemo }: PageContext): Promise<{ readonly view: View }> {
  const made = await desk.finishEnrol(textIn(body, 'link', 200), body['credential'], textIn(body, 'device', 500));
  if (!made.ok) throw new Refused(409, made.code, made.words);
  if (isDemo) return { view: { title: say`Made`, summary: say`Passkey made.`, main: demoMade(made.fingerprint) } };
  const main = html`<h1>${say`Compare the fingerprint`}</h1>
<p class="fingerprint"><code>${made.fingerprint}</code></p>
<p>${marked(say`The command that made the link shows a fingerprint, too. **Only if it is the same**, say so there. If it is another one, somebody else used your link: say no.`)}</p>
<p class="quiet">${say`This page goes on by itself once it counts.`}</p>`;
  return { view: { title: say`Compare`, summary: say`Passkey made. Compare the fingerprint.`, main } };
}

/** The demo's first passkey counts by itself. Where somebody approves in the editor already, that is agreed to there. */
function demoMade(fingerprint: string): Markup {
  return html`<h1>${say`Passkey made`}</h1>
<p class="fingerprint"><code>${fingerprint}</code></p>
<p>${marked(say`Outside the demo you would compare this with what the command shows that made the link. This page goes on by itself once the passkey counts; where you have approved in the editor before, run **Banksman: Agree to the Configuration…** there.`)}</p>`;
}

function refusedView({ words }: EnrolRefusal): View {
  const main = html`<h1>${say`This link does not work`}</h1><p class="notice bad">${capital(words)}.</p><p>${marked(say`Ask for a new one: \`banksman approvers enroll NAME --display outside\``)}</p>`;
  return { title: say`Link over`, summary: say`This link does not work`, main };
}

/** @throws {Refused} 400 */
function requestIn(body: JsonObject): string {
  const id = textIn(body, 'request', 40);
  if (requestIdPattern.test(id)) return id;
  throw new Refused(400, 'bad_body', say`\`request\` must be a request’s id`);
}

function wordsIn(body: JsonObject): readonly string[] {
  const words = body['message'] === undefined ? '' : textIn(body, 'message', 2_000).trim();
  return words === '' ? [] : [words];
}

function personOf({ approver }: Session): string {
  return `user:${approver.person}`;
}
