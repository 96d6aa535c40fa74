/** What somebody seems to have done to approvals, pins or configuration: looked at once a minute, told once, and shown until it is gone. */
import { commands } from 'vscode';
import type { Finding } from '#kernel/app';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from './app-session.ts';
import { findingTexts, topicOf } from './fault-words.ts';
import { t } from './l10n.ts';
import { notify } from './notify.ts';

/** Between two looks, in ms. */
const period = 60_000;

export class AlarmFeed {
  readonly #listeners = new Set<() => void>();
  readonly #told = new Set<string>();
  readonly #session: AppSession;
  readonly #log: Log;
  readonly #timer = setInterval(() => void this.look(), period);
  readonly #unsubscribe: () => void;
  #alarms: readonly string[] = [];

  constructor(session: AppSession, log: Log) {
    this.#session = session;
    this.#log = log;
    this.#unsubscribe = session.onChange(() => void this.look());
  }

  /** In words, for people; as of the last look. */
  get alarms(): readonly string[] {
    return this.#alarms;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As of now. Never rejects. */
  async look(): Promise<readonly string[]> {
    if (this.#session.state.kind !== 'ready') return this.#alarms;
    try {
      const found = await this.#session.use((app) => app.alarms());
      this.#alarms = found.map((one) => showPlainly(`${topicOf(one)}: ${findingTexts(one).message}`, 1_000));
      for (const finding of found) if (!this.#told.has(finding.message)) void this.#tell(finding);
    } catch (thrown) {
      this.#log.warn(`what may be wrong cannot be looked at: ${toFault(thrown).message}`);
    }
    for (const listener of [...this.#listeners]) listener();
    return this.#alarms;
  }

  /** With a button, so that it stays until a person has seen it. A program can press it: it leads to a dialog, and no further. */
  async #tell(finding: Finding): Promise<void> {
    const { topic, message, remedy } = finding;
    this.#told.add(message);
    this.#log.error(`${topic}: ${message}${remedy === undefined ? '' : `; ${remedy}`}`);
    const isHeld = message.startsWith('does not count, for nobody agreed');
    const button = isHeld ? t('Review the Change') : t('Show Log');
    const pressed = await notify.error(`Banksman: ${showPlainly(findingTexts(finding).message, 500)}`, button);
    if (pressed !== undefined) await commands.executeCommand(isHeld ? 'banksman.agreeConfiguration' : 'banksman.showLog');
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }
}
