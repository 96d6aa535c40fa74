/** *Show Policy*: it looks, tests and replays by itself; what it saves goes through the same dialogs as anywhere else. */
import { ConfigurationTarget, commands, type Uri, workspace } from 'vscode';
import type { Agent, AgentHost } from '#kernel/agent';
import { type Fault, toFault } from '#kernel/errors';
import { isJsonObject, type JsonObject } from '#kernel/json';
import type { ReplayReport } from '#kernel/policy-view';
import { modelTiers, type SecurityLevel, securityLevels, toolGroups } from '#kernel/tiers';
import { t } from '../l10n.ts';
import { type LivePage, openLivePage } from '../live-page.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import { type PolicyFacts, type PolicyForm, policyMarkup, policyParts, policyStyle } from './policy-page.ts';
import { addRule, type SaveDeps, saveSettings, type WrittenSettings } from './save-settings.ts';

export interface PolicyDeps extends SaveDeps {
  readonly extensionUri: Uri;
  /** The name of every tool that a caller can name; none while there is no App. */
  tools(): readonly string[];
}

const start: PolicyForm = { agent: 'chat:any', tier: 'intermediate', group: '', tool: 'execute_ssh', input: '{\n}', level: '', since: '' };

export class PolicyPanel {
  readonly #deps: PolicyDeps;
  readonly #page: LivePage;
  #form: PolicyForm = start;
  /** What stands in the fields now; drawn is what stood there when the page was. */
  #typed: { input: string; edited: string | undefined } = { input: start.input, edited: undefined };
  #matrix: PolicyFacts['matrix'];
  #answer: PolicyFacts['answer'];
  #settings: PolicyFacts['settings'];
  #puts = 0;
  /** What counted when the settings were loaded. */
  #loaded: JsonObject | undefined;
  #replay: PolicyFacts['replay'];
  #replayed: { readonly text: string; readonly report: ReplayReport } | undefined;
  #running: AbortController | undefined;

  constructor(deps: PolicyDeps, ended: () => void) {
    this.#deps = deps;
    this.#page = openLivePage({
      ...{ kind: 'banksman.policy', title: t('Policy'), style: policyStyle, parts: policyParts, extensionUri: deps.extensionUri },
      said: (words) => void this.#said(words),
      seen: (isVisible) => this.#seen(isVisible),
      ended: () => {
        this.#running?.abort();
        ended();
      },
    });
    this.#draw();
    void this.#look();
    void this.#load();
  }

  reveal(): void {
    this.#page.reveal();
  }

  dispose(): void {
    this.#page.dispose();
  }

  /** A page that was hidden is loaded anew: with what was typed. */
  #seen(isVisible: boolean): void {
    this.#form = { ...this.#form, input: this.#typed.input };
    this.#keepTyped();
    if (isVisible) void this.#look();
    this.#draw();
  }

  async #look(): Promise<void> {
    try {
      this.#matrix = await this.#deps.session.use((app) => app.policy.matrix(this.#agent()));
    } catch (thrown) {
      this.#matrix = { failed: wordsOf(toFault(thrown)) };
    }
    this.#draw();
  }

  /** Until they are there no field stands on the page: what was typed meanwhile would be overwritten. */
  async #load(): Promise<void> {
    this.#settings = undefined;
    this.#draw();
    try {
      this.#loaded = await this.#deps.session.use((app) => app.policy.settings());
      this.#put(this.#loaded);
    } catch (thrown) {
      this.#settings = { failed: wordsOf(toFault(thrown)) };
    }
    this.#draw();
  }

  /** Over whatever was typed. */
  #put(settings: JsonObject): void {
    this.#puts += 1;
    this.#settings = JSON.stringify(settings, undefined, 2);
    this.#typed.edited = this.#settings;
  }

  /** What is drawn anew shows what was typed. */
  #keepTyped(): void {
    if (typeof this.#settings === 'string' && this.#typed.edited !== undefined) this.#settings = this.#typed.edited;
  }

  #agent(): Agent {
    const { agent: id, tier } = this.#form;
    return { id, host: hostOf(id), modelTier: modelTiers.find((one) => one === tier) ?? 'intermediate' };
  }

  #draw(): void {
    const tools = this.#deps.tools();
    const facts = {
      form: this.#form,
      tools,
      matrix: this.#matrix,
      answer: this.#answer,
      settings: this.#settings,
      puts: this.#puts,
      replay: this.#shown(),
    };
    this.#page.draw(policyMarkup(facts));
  }

  #shown(): PolicyFacts['replay'] {
    const shown = this.#replay;
    return shown !== undefined && 'report' in shown ? { ...shown, isCurrent: this.#replayed?.text === this.#typed.edited } : shown;
  }

  /** SECURITY: words of the page; each counts only as what it can be, and none of them saves anything: a person's dialog does. */
  async #said(words: Readonly<Record<string, unknown>>): Promise<void> {
    const text = (key: string) => (typeof words[key] === 'string' ? words[key].slice(0, 400_000) : undefined);
    const edited = this.#settings === undefined ? undefined : text('edited');
    this.#typed = { input: text('input') ?? this.#typed.input, edited: edited ?? this.#typed.edited };
    const form = chosen(this.#form, text, this.#deps.tools());
    const isOther = form.agent !== this.#form.agent || form.tier !== this.#form.tier;
    if (form.since !== this.#form.since) this.#keepTyped();
    this.#form = form;
    if (isOther) await this.#look();
    try {
      await this.#act(words, text);
    } catch (thrown) {
      void tellFault(thrown);
    }
    this.#draw();
  }

  async #act(words: Readonly<Record<string, unknown>>, text: (key: string) => string | undefined): Promise<void> {
    const acts: Readonly<Record<string, () => Promise<void> | void>> = {
      test: () => this.#test(),
      replay: () => this.#run(),
      cancel: () => this.#running?.abort(),
      load: () => this.#load(),
      save: () => this.#save(),
      try: () => this.#suggested(text('try') ?? '', false),
      rule: () => this.#suggested(text('rule') ?? '', true),
    };
    for (const verb of Object.keys(words)) if (Object.hasOwn(acts, verb)) await acts[verb]?.();
  }

  async #test(): Promise<void> {
    try {
      const { tool, level } = this.#form;
      const as = securityLevels.find((one): one is SecurityLevel => one === level);
      const call = { tool, input: parsed(this.#typed.input), agent: this.#agent(), ...workspaceRestriction() };
      this.#answer = await this.#deps.session.use((app) => app.explain({ ...call, ...(as === undefined ? {} : { level: as }) }));
    } catch (thrown) {
      this.#answer = { failed: wordsOf(toFault(thrown)) };
    }
  }

  async #run(): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    const text = this.#typed.edited ?? '';
    this.#replay = { progress: { records: 0 } };
    this.#draw();
    try {
      const days = Number(this.#form.since);
      const since = days > 0 ? { since: Date.now() - days * 86_400_000 } : {};
      const onProgress = (progress: { readonly records: number; readonly of?: number }) => this.#progress(running, progress);
      const edited = parsed(text);
      const report = await this.#deps.session.use((app) => app.policy.replay(edited, { ...since, signal: running.signal, onProgress }));
      if (this.#running !== running) return;
      this.#replayed = { text, report };
      this.#replay = { report, isCurrent: true };
    } catch (thrown) {
      if (this.#running !== running) return;
      this.#replay = { failed: wordsOf(toFault(thrown)) };
    }
    this.#running = undefined;
  }

  #progress(running: AbortController, progress: { readonly records: number; readonly of?: number }): void {
    if (this.#running !== running) return;
    this.#replay = { progress };
    this.#draw();
  }

  async #save(): Promise<void> {
    const { edited = '' } = this.#typed;
    if (this.#replayed === undefined || this.#replayed.text !== edited) {
      return void notify.info(t('Banksman: replay the settings first, so that you see what they change before they are saved.'));
    }
    const { report } = this.#replayed;
    if (report.differs.length === 0) return void notify.info(t('Banksman: nothing differs from the settings that count.'));
    const [before, after] = [this.#loaded, parsed(edited)];
    if (!isJsonObject(after)) return;
    const end =
      before === undefined ? 'elsewhere' : await saveSettings({ before, after, report }, { ...this.#deps, written: editorSettings });
    if (end === 'elsewhere') {
      return void notify.warning(
        t('Banksman: the settings were changed meanwhile, in another window or by a person elsewhere. Load them again.'),
      );
    }
    if (end === 'kept') return;
    this.#replayed = undefined;
    await this.#load();
    await this.#look();
  }

  /** Into the settings above, for a replay; or added, which asks in its own dialog. */
  async #suggested(word: string, adds: boolean): Promise<void> {
    const rule = /^\d{1,3}$/.test(word) ? this.#replayed?.report.suggestions[Number(word)] : undefined;
    if (rule === undefined) return;
    const { pattern, action } = rule;
    if (adds) {
      if (await addRule({ pattern, action }, this.#deps)) await this.#load();
      return;
    }
    const edited = parsed(this.#typed.edited ?? '');
    if (!isJsonObject(edited)) return;
    const rules = Array.isArray(edited['autoApprove']) ? edited['autoApprove'] : [];
    this.#put({ ...edited, autoApprove: [...rules, { pattern, action }] });
    await this.#run();
  }
}

const editorSettings: WrittenSettings = {
  read: (key) => workspace.getConfiguration('banksman').inspect(key)?.globalValue,
  write: async (key, value) => workspace.getConfiguration('banksman').update(key, value, ConfigurationTarget.Global),
  agree: async () => commands.executeCommand('banksman.agreeConfiguration'),
};

function chosen(form: PolicyForm, text: (key: string) => string | undefined, tools: readonly string[]): PolicyForm {
  const oneOf = (key: 'tier' | 'group' | 'level' | 'since' | 'tool', known: readonly string[]) => {
    const word = text(key);
    return word !== undefined && known.includes(word) ? word : form[key];
  };
  return {
    ...form,
    agent: text('agent')?.trim().slice(0, 200) ?? form.agent,
    tier: oneOf('tier', modelTiers),
    group: oneOf('group', ['', ...toolGroups]),
    level: oneOf('level', ['', ...securityLevels]),
    since: oneOf('since', ['', '1', '7', '30']),
    tool: oneOf('tool', tools),
  };
}

/** By the first word of its id, as the trail has it. */
function hostOf(id: string): AgentHost {
  const word = /^(?:[^/:]+\/)?([a-z]+):/.exec(id)?.[1];
  if (word === 'user') return 'palette';
  return word === 'cli' || word === 'mcp' || word === 'hook' ? word : 'chat';
}

/** @throws {SyntaxError} */
function parsed(text: string): unknown {
  return JSON.parse(text);
}

function wordsOf({ message, next }: Fault): string {
  return next === undefined ? message : `${message}; ${next}`;
}
