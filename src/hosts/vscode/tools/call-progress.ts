/** What a person sees while a call runs: a word in the status bar at once, instead of it a notification with Cancel once it takes long. */
import { type CancellationToken, type Disposable, ProgressLocation, window } from 'vscode';
import type { HumanGate } from '#kernel/app';
import { plainProgress } from '../markdown.ts';

const longMs = 3000;

interface CallProgress {
  onProgress(message: string): void;
  /** The gate, wrapped: a person who is being asked needs no notification that it takes long. */
  readonly gate: HumanGate;
  end(): void;
}

/** @param cancel called when the person presses Cancel; undefined: it stays in the status bar */
export function showCallProgress(title: string, gate: HumanGate, cancel: (() => void) | undefined): CallProgress {
  let shown = showProgress(title, ProgressLocation.Window);
  const becomeLong = () => {
    if (cancel === undefined) return;
    shown.end();
    shown = showProgress(title, ProgressLocation.Notification, cancel);
  };
  let timer = setTimeout(becomeLong, longMs);
  const ended = new AbortController();
  return {
    onProgress: (message) => shown.report(plainProgress(message)),
    gate: {
      ask(request, done) {
        clearTimeout(timer);
        const goOn = () => {
          timer = setTimeout(becomeLong, longMs);
        };
        done.addEventListener('abort', goOn, { once: true, signal: ended.signal });
        gate.ask(request, done);
      },
    },
    end() {
      ended.abort();
      clearTimeout(timer);
      shown.end();
    },
  };
}

interface ShownProgress {
  report(message: string): void;
  end(): void;
}

function showProgress(title: string, location: ProgressLocation, cancel?: () => void): ShownProgress {
  const ended = Promise.withResolvers<void>();
  let report = (_message: string): void => {};
  void window.withProgress({ location, title, cancellable: cancel !== undefined }, (progress, token) => {
    report = (message) => progress.report({ message });
    if (cancel) token.onCancellationRequested(cancel);
    return ended.promise;
  });
  return { report: (message) => report(message), end: ended.resolve };
}

/** The editor's cancellation as an AbortSignal. */
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
