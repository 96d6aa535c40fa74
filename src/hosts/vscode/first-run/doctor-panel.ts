/** *Doctor*: what works here and what does not, looked at anew whenever the person says so. */
import { commands, type Disposable, type Uri } from 'vscode';
import type { Finding } from '#kernel/app';
import { toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import { createDisposableBag } from '../disposables.ts';
import { doctorOfWindow } from '../hooks/agent-standing.ts';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import { type DoctorFacts, type DoctorStep, doctorMarkup, doctorParts, doctorSteps, doctorStyle } from './doctor-page.ts';

export function registerDoctor(session: AppSession, extensionUri: Uri, stateDir: string): Disposable {
  const bag = createDisposableBag();
  let open: DoctorPanel | undefined;
  bag.add(
    commands.registerCommand('banksman.doctor', () => {
      const look = (signal: AbortSignal) => session.use((app) => doctorOfWindow(app, signal, stateDir));
      open ??= new DoctorPanel(look, extensionUri, () => {
        open = undefined;
      });
      open.reveal();
    }),
  );
  // Settings that changed are looked at, as they are then.
  const stop = session.onChange(() => {
    if (session.state.kind === 'ready') void open?.look();
  });
  bag.add({ dispose: stop });
  bag.add({ dispose: () => open?.dispose() });
  return bag;
}

class DoctorPanel {
  readonly #findings: (signal: AbortSignal) => Promise<readonly Finding[]>;
  readonly #page: LivePage;
  #facts: DoctorFacts = { findings: undefined, isLooking: false };
  #looking: AbortController | undefined;

  constructor(findings: (signal: AbortSignal) => Promise<readonly Finding[]>, extensionUri: Uri, ended: () => void) {
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
