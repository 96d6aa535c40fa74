/** One question to `@banksman`: what every part of the answer gets. */
import type { CancellationToken, ChatContext, ChatRequest, ChatResponseStream } from 'vscode';
import type { ToolDescription } from '#kernel/tool';
import type { ToolRunner } from '../tools/run-tool.ts';

export interface ParticipantDeps {
  readonly tools: readonly ToolDescription[];
  readonly runner: ToolRunner;
}

/** The question, and where its answer goes. */
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
