/** An answer of `@banksman`: which way a question goes, and what stays of it for the next one. */
import type { ChatFollowup, ChatResult } from 'vscode';
import { toFault } from '#kernel/errors';
import type { ParticipantCommand } from '../contributes/participant.ts';
import { t } from '../l10n.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from '../tools/call-progress.ts';
import { askModel } from './ask-model.ts';
import { doctorInChat, explainInChat, statusInChat, undoInChat } from './looks.ts';
import { recall, type TurnMemory } from './memory.ts';
import { type ParticipantDeps, type SignalledTurn, type Turn, untilCancelled } from './turn.ts';

/** Never rejects: what goes wrong is said. */
export async function answer(turn: Turn, deps: ParticipantDeps): Promise<ChatResult> {
  const call = abortOnCancel(turn.token);
  try {
    const stream = untilCancelled(turn.stream, call.signal);
    const memory = await wayOf(turn.request.command)({ ...turn, stream, signal: call.signal }, deps);
    return { metadata: { turn: memory } };
  } catch (thrown) {
    if (call.signal.aborted) return {};
    const { message, next } = toFault(thrown);
    const words = [message, ...(next === undefined ? [] : [next])].map(escapeMarkdown).join('. ');
    return { errorDetails: { message: words } };
  } finally {
    call.dispose();
  }
}

type Way = (turn: SignalledTurn, deps: ParticipantDeps) => Promise<TurnMemory>;

const ways: Readonly<Record<ParticipantCommand, Way>> = {
  status: statusInChat,
  explain: explainInChat,
  undo: undoInChat,
  doctor: doctorInChat,
  plan: askModel,
  continue: askModel,
};

function wayOf(command: string | undefined): Way {
  return (Object.entries(ways).find(([name]) => name === command)?.[1] ?? askModel) satisfies Way;
}

// What a person may want to say next, by what the last answer left behind.

export function followUps(metadata: unknown): ChatFollowup[] {
  const memory = recall(metadata);
  if (memory === undefined) return [];
  const offers: (ChatFollowup | undefined)[] = [
    memory.waits === undefined ? undefined : offerOf('continue', memory.waits.requestId, t('I have answered: go on')),
    memory.unfinished === true ? { prompt: t('Go on.'), label: t('Go on') } : undefined,
    memory.refused === true ? offerOf('explain', t('the last refusal'), t('Why was it refused?')) : undefined,
    memory.undoable === true ? offerOf('undo', t('the last run'), t('What was changed, and can be undone?')) : undefined,
  ];
  return offers.filter((offer) => offer !== undefined);
}

function offerOf(command: ParticipantCommand, prompt: string, label: string): ChatFollowup {
  return { command, prompt, label };
}
