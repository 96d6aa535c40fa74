/** A person at the dialogs, and a clock that moves only while they read. */
import type { Dialogs, Question, TypedQuestion } from '#hosts/vscode/gate/dialogs';
import type { ReviewDeps } from '#hosts/vscode/gate/review';
import type { Clock } from '#kernel/ports/clock';

export interface Reaction {
  /** undefined: Esc. A function sees the question first. */
  readonly press?: string | ((question: Question) => Promise<string | undefined> | string | undefined);
  /** How long they look at it, in ms. */
  readonly after?: number;
  /** The window goes away instead. */
  readonly windowCloses?: boolean;
}

export interface ScriptedPerson {
  readonly dialogs: Dialogs;
  readonly questions: Question[];
  readonly typed: TypedQuestion[];
  readonly told: { readonly kind: string; readonly message: string }[];
  readonly offers: string[];
  now(): number;
}

export interface PersonScript {
  readonly reactions?: readonly Reaction[];
  /** What they type; default: the code that stood on the card before. */
  type?(question: TypedQuestion, onCard: string): string | undefined;
  /** What they add to a denial. */
  note?(question: { readonly title: string; readonly prompt: string }): string | undefined | Promise<never>;
  /** Whether they take the offer. */
  readonly takesOffers?: boolean;
}

export function scriptedPerson(script: PersonScript): ScriptedPerson {
  const reactions = [...(script.reactions ?? [])];
  const person = {
    questions: [] as Question[],
    typed: [] as TypedQuestion[],
    told: [] as { kind: string; message: string }[],
    offers: [] as string[],
  };
  let time = 0;
  return {
    ...person,
    now: () => time,
    dialogs: {
      async ask(question) {
        person.questions.push(question);
        const reaction = reactions.shift();
        if (!reaction) throw new Error(`nobody expected a dialog: ${question.title}`);
        time += reaction.after ?? 2000;
        if (reaction.windowCloses) throw new Error('Canceled');
        return typeof reaction.press === 'function' ? reaction.press(question) : reaction.press;
      },
      async type(question) {
        person.typed.push(question);
        const onCard = codeOn(person.questions.at(-1));
        return script.type === undefined ? onCard : script.type(question, onCard);
      },
      note: async (question) => script.note?.(question),
      tell: (kind, message) => void person.told.push({ kind, message }),
      async offer(message) {
        person.offers.push(message);
        return script.takesOffers ?? false;
      },
    },
  };
}

/** What the card asks a person to type. */
export function codeOn(question: Question | undefined): string {
  return /then type (.+)\.$/m.exec(question?.detail ?? '')?.[1] ?? '';
}

/** What is to happen at a time, on a clock that moves when it is told. */
export function byClock(clock: Clock): ReviewDeps['at'] {
  return (time, act) => {
    const stop = new AbortController();
    clock.sleep(time - clock.now(), stop.signal).then(act, () => undefined);
    return () => stop.abort();
  };
}
