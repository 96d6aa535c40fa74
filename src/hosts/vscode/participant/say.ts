/** All that the participant says itself, between a model's words. */
import { MarkdownString } from 'vscode';
import type { RequestRecord } from '#kernel/approval/request';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ToolDescription } from '#kernel/tool';
import { saidWords } from '../fault-words.ts';
import { t, titleOf } from '../l10n.ts';
import { escapeMarkdown } from '../markdown.ts';
import { notify } from '../notify.ts';
import { titleOfRequest } from '../request-words.ts';
import { type DoneCall, type LoopEnd, mostRounds } from './agent-loop.ts';
import type { TurnMemory } from './memory.ts';
import { type ModelFailure, modelFailure } from './model-failure.ts';
import type { Circumstances } from './offer.ts';
import type { Turn } from './turn.ts';

/** A paragraph of our own, which may hold icons. SECURITY: what is from outside in it is escaped by whoever made it; no link in it runs a command. */
export function sayLine({ stream }: Turn, icon: string, text: string): void {
  stream.markdown(new MarkdownString(`\n\n$(${icon}) ${text}\n\n`, true));
}

const marks: Readonly<Record<Outcome['status'], string>> = { ok: 'check', denied: 'circle-slash', pending: 'bell-dot', error: 'error' };

/** One line a call. What waits is said by itself. */
export function sayCall(turn: Turn, tool: ToolDescription, { status, message }: Outcome): void {
  if (status !== 'pending')
    sayLine(turn, marks[status], `**${escapeMarkdown(titleOf(tool))}** · ${escapeMarkdown(showPlainly(saidWords(message), 300))}`);
}

/** The dialog opens by itself where the call waits; the button opens it again, and decides nothing. */
export function sayWaiting(turn: Turn, request: Pick<RequestRecord, 'id' | 'title' | 'words'>): void {
  sayLine(turn, 'bell-dot', t('Waits for you: **{0}**', escapeMarkdown(titleOfRequest(request, 200))));
  turn.stream.button({ command: 'banksman.review', title: t('Review'), arguments: [request.id] });
}

export function sayNotRead(turn: Turn, notRead: readonly { readonly what: string; readonly why: string }[]): void {
  for (const { what, why } of notRead)
    sayLine(turn, 'warning', t('The model does not see {0}: {1}', `**${escapeMarkdown(what)}**`, escapeMarkdown(why)));
}

/** What this model and this window leave out: said once a chat. */
export function sayPlace(turn: Turn, { tier, clusters, looksOnly }: Circumstances): void {
  if (tier === 'basic')
    sayLine(
      turn,
      'info',
      t(
        'By its name, `{0}` is a small model or one that Banksman does not know: it is shown a few tools that look. A larger one can do more.',
        showPlainly(turn.request.model.id, 60).replaceAll('`', ''),
      ),
    );
  if (looksOnly && turn.request.command !== 'plan')
    sayLine(turn, 'workspace-untrusted', t('This workspace is not trusted: only tools that look are there.'));
  if (clusters > 0) return;
  sayLine(turn, 'info', t('No cluster is connected.'));
  turn.stream.button({ command: 'banksman.openWalkthrough', title: t('Connect a Cluster') });
}

/** Asked nothing. */
export function sayStart({ stream }: Turn): TurnMemory {
  const said = t(
    'Ask me about your clusters or this workspace: “Which guests run?”, “Restart container 200 and tell me when it is up”. What can hurt asks you first.',
  );
  stream.markdown(`${said}\n\n${modelLess()}`);
  return { said, calls: [] };
}

export function sayNoTools(turn: Turn): TurnMemory {
  const said = t('The model {0} cannot call tools, so it can do nothing here.', `**${escapeMarkdown(turn.request.model.name)}**`);
  sayLine(turn, 'error', `${said} ${pickAnother()}`);
  turn.stream.markdown(modelLess());
  return { said, calls: [] };
}

function pickAnother(): string {
  return t('Pick another one in the list below the chat.');
}

function modelLess(): string {
  return t('These need no model: {0}.', '`/status`, `/explain`, `/undo`, `/doctor`');
}

/** How it ended, where that is not simply the model's answer. */
export function sayEnd(turn: Turn, end: LoopEnd): void {
  if (end.kind === 'waits') sayLeftWaiting(turn, end.call);
  if (end.kind === 'cancelled') tellCancelled(end.unsure);
  const words = endWords(turn, end);
  if (words !== undefined) sayLine(turn, 'warning', words);
  if (end.kind === 'failed') turn.stream.markdown(modelLess());
}

function endWords({ request: { model } }: Turn, end: LoopEnd): string | undefined {
  if (end.kind === 'failed') return failureWords(modelFailure(end.thrown), `**${escapeMarkdown(model.name)}**`);
  if (end.kind === 'repeats') {
    const call = escapeMarkdown(`${end.call.tool}: ${saidWords(end.call.outcome.message)}`);
    return t('Stopped: the model asked for exactly the same call again and again. {0}', call);
  }
  if (end.kind !== 'too_long') return plainEnds[end.kind]?.();
  return t(
    'The question, with what is attached, is longer than this model takes ({0} tokens). Attach less, or pick a model that takes more.',
    model.maxInputTokens,
  );
}

function failureWords({ kind, message }: ModelFailure, model: string): string {
  const reason = message === '' ? t('no reason was given') : escapeMarkdown(message.replace(/\.$/, ''));
  const words: Readonly<Record<ModelFailure['kind'], string>> = {
    not_allowed: t('Banksman may not use {0}: allow it when the editor asks, then ask again.', model),
    gone: t('{0} is not there any more. {1}', model, pickAnother()),
    quota: t('{0} takes no more questions for now: its quota is used up. Wait, or pick another model.', model),
    blocked: t('{0} is blocked for now, by its provider or a quota. Wait, or pick another model.', model),
    no_tools: t('{0} cannot call tools, so it can do nothing here. {1}', model, pickAnother()),
    other: t('{0} did not answer: {1}. Ask again, or pick another model.', model, reason),
  };
  return words[kind];
}

const plainEnds: Readonly<Partial<Record<LoopEnd['kind'], () => string>>> = {
  astray: () => t('Stopped: for three rounds the model called nothing that can be run. {0}', pickAnother()),
  rounds: () => t('Stopped after {0} rounds. If that is what you want, let it go on.', mostRounds),
  empty: () => t('The model gave no answer. {0}', pickAnother()),
  written_call: () =>
    t('The model wrote a call of a tool instead of making it, so nothing was done: it may not be able to. {0}', pickAnother()),
};

/** What a plan holds is shown before it is asked about. */
function sayLeftWaiting(turn: Turn, { tool, outcome }: DoneCall): void {
  const { result, request_id: id } = outcome;
  if (tool === 'propose_plan' && isJsonObject(result)) turn.stream.markdown(planWords(result));
  sayLine(turn, 'bell-dot', escapeMarkdown(showPlainly(saidWords(outcome.message), 400)));
  if (id === undefined) return;
  turn.stream.button({ command: 'banksman.review', title: t('Review'), arguments: [id] });
  if (tool === 'propose_plan') turn.stream.button({ command: 'banksman.showPlan', title: t('Show Plan'), arguments: [id] });
}

function planWords(result: JsonObject): string {
  const steps = Array.isArray(result['steps']) ? result['steps'].filter((step) => isJsonObject(step)) : [];
  const lines = steps.map((step: JsonObject) => {
    const back = textOf(step['no_way_back']);
    const note = back === undefined ? '' : ` (${t('no way back: {0}', escapeMarkdown(back))})`;
    return `1. ${escapeMarkdown(textOf(step['title']) ?? '')}${note}`;
  });
  return `\n\n${lines.join('\n')}\n\n`;
}

/** The chat shows nothing more of an answer that was cancelled. */
function tellCancelled(unsure: readonly DoneCall[]): void {
  for (const { tool, outcome } of unsure)
    void notify.warning(t('Cancelled. What is known of it: {0}', showPlainly(`${tool}: ${saidWords(outcome.message)}`, 300)));
}
