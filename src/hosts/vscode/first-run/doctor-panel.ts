/** *Doctor*: what works here and what does not, looked at anew whenever the person says so. */
import { commands, type Uri } from 'vscode';
import type { Finding } from '#kernel/app';
import { toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import { doctorOfWindow } from '../hooks/agent-standing.ts';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import { type DoctorFacts, type DoctorStep, doctorMarkup, doctorParts, doctorSteps, doctorStyle } from './doctor-page.ts';

type Findings = (signal: AbortSignal) => Promise<readonly Finding[]>;

/** What `doctor` finds, and what hooks of agents it finds in this window. */
export function findingsHere(session: AppSession, stateDir: string): Findings {
  return (signal) => session.use((app) => doctorOfWindow(app, signal, stateDir));
}

export class DoctorPanel {
  readonly #findings: Findings;
  readonly #page: LivePage;
  #facts: DoctorFacts = { findings: undefined, isLooking: false };
  #looking: AbortController | undefined;

  constructor(findings: Findings, extensionUri: Uri, ended: () => void) {
    this.#findings = findings;
    this.#page = openLivePage({
      ...{ kind: 'banksman.doctor', title: t('Banksman Doctor'), style: doctorStyle, parts: doctorParts, extensionUri },
      said: (words) => void this.#said(words),
      seen: () => undefined,
      ended: () => {
        this.#looking?.abort(new Error('the page was closed'));
        ended();
      },
    });
  }

  reveal(): void {
    this.#page.reveal();
    void this.look();
  }

  dispose(): void {
    this.#page.dispose();
  }

  async look(): Promise<void> {
    this.#looking?.abort(new Error('looked at anew'));
    const mine = new AbortController();
    this.#looking = mine;
    this.#tell({ findings: this.#facts.findings, isLooking: true });
    try {
      const findings = await this.#findings(mine.signal);
      if (this.#looking === mine) this.#tell({ findings, isLooking: false });
    } catch (thrown) {
      const { message, next } = toFault(thrown);
      const failed = next === undefined ? message : `${message}. ${next}`;
      if (this.#looking === mine) this.#tell({ findings: undefined, isLooking: false, failed });
    }
  }

  #tell(facts: DoctorFacts): void {
    this.#facts = facts;
    this.#page.draw(doctorMarkup(facts));
  }

  async #said(words: Readonly<Record<string, unknown>>): Promise<void> {
    if (words['again'] !== undefined) return this.look();
    const step = words['do'];
    if (typeof step !== 'string' || !Object.hasOwn(doctorSteps, step)) return;
    const { command, ...more } = doctorSteps[step as DoctorStep];
    await commands.executeCommand(command, ...Object.values(more));
  }
}
