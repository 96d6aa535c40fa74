/** `@banksman` in the chat. What it does is loaded when somebody first asks it. */
import {
  type CancellationToken,
  type ChatContext,
  type ChatRequest,
  type ChatResponseStream,
  chat,
  type Disposable,
  ThemeIcon,
} from 'vscode';
import type { ToolDescription } from '#kernel/tool';
import { participantId } from '../contributes/participant.ts';
import type { ToolRunner } from '../tools/run-tool.ts';

export interface ParticipantDeps {
  readonly tools: readonly ToolDescription[];
  readonly runner: ToolRunner;
}

/** One question, and where its answer goes. */
export interface Turn {
  readonly request: ChatRequest;
  readonly context: ChatContext;
  readonly stream: ChatResponseStream;
  readonly token: CancellationToken;
}

export interface SignalledTurn extends Turn {
  /** Aborts when the person cancels. */
  readonly signal: AbortSignal;
}

export function registerParticipant(deps: ParticipantDeps): Disposable {
  const participant = chat.createChatParticipant(participantId, async (request, context, stream, token) => {
    const { answer } = await import('./answer.ts');
    return answer({ request, context, stream, token }, deps);
  });
  participant.iconPath = new ThemeIcon('shield');
  participant.followupProvider = {
    provideFollowups: async (result) => (await import('./follow-ups.ts')).followUps(result.metadata),
  };
  return participant;
}
