/** What a person sees while a call runs: a word in the status bar at once, a notification with Cancel once it takes long. */
import { ProgressLocation, window } from 'vscode';
import type { HumanGate } from '#app/app';

const longMs = 3000;

export interface CallProgress {
  onProgress(message: string): void;
  /** The gate, wrapped: a person who is being asked needs no notification that it takes long. */
  readonly gate: HumanGate;
  end(): void;
}

/** @param cancel called when the person presses Cancel */
export function showCallProgress(title: string, gate: HumanGate, cancel: () => void): CallProgress {
  const ended = Promise.withResolvers<void>();
  const reports = new Set<(message: string) => void>();
  let timer: NodeJS.Timeout | undefined;
  const watch = (location: ProgressLocation, cancellable: boolean) =>
    void window.withProgress({ location, title, cancellable }, (progress, token) => {
      reports.add((message) => progress.report({ message }));
      token.onCancellationRequested(cancel);
      return ended.promise;
    });
  const arm = () => {
    timer = setTimeout(() => watch(ProgressLocation.Notification, true), longMs);
  };
  watch(ProgressLocation.Window, false);
  arm();
  return {
    onProgress(message) {
      for (const report of reports) report(message);
    },
    gate: {
      ask(request, done) {
        clearTimeout(timer);
        done.addEventListener('abort', arm, { once: true });
        void ended.promise.then(() => done.removeEventListener('abort', arm));
        gate.ask(request, done);
      },
    },
    end() {
      clearTimeout(timer);
      ended.resolve();
    },
  };
}
