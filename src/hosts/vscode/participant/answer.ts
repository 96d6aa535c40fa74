/** An answer of `@banksman`: which way a question goes, and what stays of it for the next one. */
import type { ChatResult } from 'vscode';
import { toFault } from '#kernel/errors';
import type { ParticipantCommand } from '../contributes/participant.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from '../tools/call-progress.ts';
import { askModel } from './ask-model.ts';
import { doctorInChat, explainInChat, statusInChat, undoInChat } from './looks.ts';
import type { TurnMemory } from './memory.ts';
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
