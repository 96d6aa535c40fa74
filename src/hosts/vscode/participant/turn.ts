/** One question to `@banksman`: what every part of the answer gets. */
import type { CancellationToken, ChatContext, ChatRequest, ChatResponseStream } from 'vscode';
import type { ToolDescription } from '#kernel/tool';
import type { ToolRunner } from '../tools/run-tool.ts';

export interface ParticipantDeps {
  readonly tools: readonly ToolDescription[];
  readonly runner: ToolRunner;
}

type AnswerStream = Pick<ChatResponseStream, 'markdown' | 'button' | 'progress' | 'reference'>;

/**
 * The editor closes an answer's stream a second after a cancel, and throws at whoever writes to it then: what comes after a cancel is dropped here, so that
 * the turn still says elsewhere what may go on, and leaves its memory behind.
 */
export function untilCancelled(stream: AnswerStream, signal: AbortSignal): AnswerStream {
  const kept =
    <Given extends unknown[]>(write: (...given: Given) => void) =>
    (...given: Given): void => {
      if (!signal.aborted) write(...given);
    };
  return {
    markdown: kept((value) => stream.markdown(value)),
    button: kept((command) => stream.button(command)),
    progress: kept((value) => stream.progress(value)),
    reference: kept((value) => stream.reference(value)),
  };
}

/** The question, and where its answer goes. */
export interface Turn {
  readonly request: ChatRequest;
  readonly context: ChatContext;
  readonly stream: AnswerStream;
  readonly token: CancellationToken;
}

export interface SignalledTurn extends Turn {
  /** Aborts when the person cancels. */
  readonly signal: AbortSignal;
}
