/** Answers for the in-host suite, where the editor refuses to show modal dialogs. */
import type { Dialogs, Question } from '#hosts/vscode/gate/dialogs';

/** Gets the question as a person would; resolves with a button, undefined for Esc. */
export type Answerer = (question: Question) => string | undefined | Promise<string | undefined>;

export interface TestSeam {
  /** undefined brings the real dialogs back. Typed questions are answered with the code on the card before unless `typed` is given. */
  answerWith(answer: Answerer | undefined, typed?: string): void;
}

/**
 * SECURITY: one extension host has one module cache, so any extension can call what our module exports. It is no part of the shipped bundle: a forged context would otherwise
 * get it out of a fresh copy of the module.
 */
export function createTestSeam(real: Dialogs): { readonly seam: TestSeam; readonly dialogs: Dialogs } {
  let answerer: Answerer | undefined;
  let typedAnswer: string | undefined;
  let onCard: string | undefined;
  return {
    seam: {
      answerWith(answer, typed) {
        answerer = answer;
        typedAnswer = typed;
      },
    },
    dialogs: {
      ask: async (question) => {
        onCard = /then type (.+)\.$/m.exec(question.detail)?.[1];
        return answerer ? answerer(question) : real.ask(question);
      },
      type: async (question) => (answerer ? (typedAnswer ?? onCard) : real.type(question)),
      note: async () => undefined,
      tell: (kind, message) => real.tell(kind, message),
      offer: async (message, label) => (answerer ? false : real.offer(message, label)),
    },
  };
}
