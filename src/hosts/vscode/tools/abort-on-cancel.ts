/** The editor's cancellation as an AbortSignal. */
import type { CancellationToken, Disposable } from 'vscode';

export interface CallSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(): void;
}

/** Aborts with `token`, and by `abort()`. Dispose it when the call has ended. */
export function abortOnCancel(token?: CancellationToken): CallSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new Error('cancelled by the caller'));
  const listener = token?.onCancellationRequested(abort);
  if (token?.isCancellationRequested) abort();
  return { signal: controller.signal, abort, dispose: () => listener?.dispose() };
}
