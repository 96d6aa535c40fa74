/** How far a call is, for clients that asked (`_meta.progressToken`). */
import type { ServerContext } from '@modelcontextprotocol/server';

/** How often a wait for a person is reported, in ms: well within the 60 s after which clients give up on a silent call. */
export const heartbeatMs = 10_000;

export type ReportProgress = (message: string) => void;

/**
 * Sends each message as a notification with a growing count. A client that cannot be reached is no error of the call's.
 * @returns a function that does nothing for a client that did not ask
 */
export function progressReporter({ mcpReq }: Pick<ServerContext, 'mcpReq'>): ReportProgress {
  const { _meta: meta } = mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return (message) => {
    // A call that was given up reports nothing more: its token is no longer the client's.
    if (mcpReq.signal.aborted) return;
    progress += 1;
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

/** Reports at intervals until `done` aborts, so that the client's own time limit does not end a wait for a person. */
export function heartbeat(report: ReportProgress, message: string, done: AbortSignal): void {
  const timer = setInterval(() => report(message), heartbeatMs);
  done.addEventListener('abort', () => clearInterval(timer), { once: true });
}
