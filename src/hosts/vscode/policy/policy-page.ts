/** The page *Policy*: who may do what and why, what a call would end with, and what other settings would have done. Pure; all from outside is escaped. */
import type { Explanation } from '#kernel/app';
import type { Decision } from '#kernel/decision';
import type {
  PolicyCell,
  PolicyMatrix,
  PolicyRow,
  PolicyScope,
  ReplayedChange,
  ReplayedDecision,
  ReplayProgress,
  ReplayReport,
  RuleSuggestion,
} from '#kernel/policy-view';
import { type Html, html, lines, nothing } from '#kernel/text/html';
import { modelTiers, securityLevels, toolGroups } from '#kernel/tiers';
import { reasonWords, saidWords } from '../fault-words.ts';
import { t, titleOf } from '../l10n.ts';
import { table } from '../live-shell.ts';

/** What was typed and chosen. Texts are drawn as they were when the page was: a field that somebody types in is not put there anew. */
export interface PolicyForm {
  readonly agent: string;
  readonly tier: string;
  readonly group: string;
  readonly tool: string;
  readonly input: string;
  readonly level: string;
  readonly since: string;
}

export interface PolicyFacts {
  readonly form: PolicyForm;
  readonly tools: readonly string[];
  readonly matrix: PolicyMatrix | { readonly failed: string } | undefined;
  readonly answer: Explanation | { readonly failed: string } | undefined;
  /** The settings as text; a reason where they are not shown here. */
  readonly settings: string | { readonly failed: string } | undefined;
  /** How often they were put there: the page draws nothing that is as it was drawn last, whatever was typed over it. */
  readonly puts: number;
  readonly replay: ReplayState | undefined;
}

export const policyParts = ['who', 'matrix', 'call', 'answer', 'settings', 'replay'] as const;

export function policyMarkup({
  form,
  tools,
  matrix,
  answer,
  settings,
  puts,
  replay,
}: PolicyFacts): Readonly<Record<(typeof policyParts)[number], string>> {
  return {
    who: whoControls(form).markup,
    matrix: matrixPart(matrix, form.group).markup,
    call: callForm(form, tools).markup,
    answer: answerPart(answer).markup,
    settings: settingsPart({ settings, puts, form }).markup,
    replay: replayMarkup(replay).markup,
  };
}

const exampleIds = 'mcp:ci, chat:0f3a, cli:alice, hook:codex:alice';

function whoControls({ agent, tier, group }: PolicyForm): Html {
  const tiers = modelTiers.map((one) => [one, one] as const);
  const groups = [['', t('all')] as const, ...toolGroups.map((one) => [one, one] as const)];
  return html`<h2>${t('Who may do what')}</h2><p class="filters">
${select('tier', t('Model tier'), tiers, tier)}
<label>${t('Agent')} <input type="text" data-say="agent" value="${agent}" spellcheck="false"></label>
${select('group', t('Tools'), groups, group)}</p>
<p class="dim">${t('An agent’s id decides which scopes hold it, for example: {0}', exampleIds)}</p>`;
}

function select(name: string, title: string, options: readonly (readonly [string, string])[], chosen: string): Html {
  const items = options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : nothing}>${text}</option>`,
  );
  return html`<label>${title} <select data-say="${name}">${items}</select></label>`;
}

/** Of one stage: a call that it lets pass may end at the next. */
const answers = { allow: t('passes'), ask: t('asks'), deny: t('refused') };
const effectWords = { allow: t('runs'), ask: t('asks'), deny: t('refused') };

function matrixPart(matrix: PolicyFacts['matrix'], group: string): Html {
  if (matrix === undefined) return html`<p class="dim">${t('Reading the policy…')}</p>`;
  if ('failed' in matrix) return html`<p class="banner bad">${matrix.failed}</p>`;
  const heads = securityLevels.map((level) => html`<th scope="col">${level === matrix.level ? t('{0} (now)', level) : level}</th>`);
  const rows = matrix.rows.filter((row) => group === '' || row.group === group).map((row) => rowOf(row, matrix.scopes));
  const limits = matrix.limits.map((line) => html`<li>${line}</li>`);
  const held =
    limits.length === 0
      ? html`<p class="dim">${t('No scope, window or pause holds this agent besides.')}</p>`
      : html`<p>${t('Besides, by what a call touches:')}</p><ul>${limits}</ul>`;
  const columns = matrix.scopes.map(scopeHead);
  return html`${held}<div class="wide"><table class="rows matrix"><thead><tr><th scope="col">${t('Tool')}</th><th scope="col">${t('Tier, impact')}</th>${heads}${columns}</tr></thead><tbody>${rows}</tbody></table></div>
<p class="dim">${t('Whatever the level, a call is held back by what it touches, too: protected things, commands, paths. Test a call to see that.')}</p>`;
}

function scopeHead({ name, agents, isOwn }: PolicyScope): Html {
  const whom = isOwn ? t('holds this agent') : t('not this agent');
  return html`<th scope="col">${t('Scope {0}', name)}<br><span class="dim">${agents.join(', ')}: ${whom}</span></th>`;
}

function rowOf({ tool, title, tier, impact, cells, scopes: said }: PolicyRow, scopes: readonly PolicyScope[]): Html {
  const ofScopes = said.map((decision, index) => scopeCell(decision, scopes[index]));
  return html`<tr><th scope="row"><code>${tool}</code><br><span class="dim">${titleOf({ title })}</span></th><td data-title="${t('Tier, impact')}">${tier}, ${impact}</td>${cells.map(cellOf)}${ofScopes}</tr>`;
}

function cellOf({ level, decision, stage }: PolicyCell): Html {
  return html`<td data-title="${level}"><details><summary class="to-${decision.effect}">${effectWords[decision.effect]}</summary><p>${reasonWords(decision)} <span class="dim">(${stage}${rulesOf(decision)})</span></p></details></td>`;
}

/** Whom a scope does not name it does not hold: its column is paler then. */
function scopeCell(decision: Decision, scope: PolicyScope | undefined): Html {
  const isHeld = decision.rules.length > 0;
  const word = isHeld ? answers[decision.effect] : t('not held');
  const kind = isHeld ? `to-${decision.effect}` : 'dim';
  return html`<td data-title="${t('Scope {0}', scope?.name ?? '')}"${scope?.isOwn === true ? nothing : html` class="others"`}><details><summary class="${kind}">${word}</summary><p>${reasonWords(decision)}<span class="dim">${isHeld ? ` (${decision.rules.join(', ')})` : ''}</span></p></details></td>`;
}

function rulesOf({ rules }: Pick<Decision, 'rules'>): string {
  return rules.length === 0 ? '' : `; ${rules.join(', ')}`;
}

function callForm({ tool, input, level }: PolicyForm, tools: readonly string[]): Html {
  const levels = [['', t('the one that counts')] as const, ...securityLevels.map((one) => [one, one] as const)];
  const names = tools.map((name) => [name, name] as const);
  return html`<h2>${t('Test a call')}</h2><p class="filters">
${select('tool', t('Tool'), names, tool)}
${select('level', t('Level'), levels, level)}</p>
<p><label for="input">${t('Arguments (JSON)')}</label><textarea id="input" data-say="input" rows="4" spellcheck="false">${lines(input, 20_000)}</textarea></p>
<p class="actions"><button type="button" class="button" data-say="test">${t('Test')}</button></p>
<p class="dim">${t('By the agent and model tier above. Nothing is run, asked or written down.')}</p>`;
}

const ends: Readonly<Record<Explanation['status'], string>> = {
  ok: t('It would run.'),
  pending: t('A person would be asked.'),
  denied: t('It would be refused.'),
  error: t('It is wrong in itself.'),
};
const banners: Readonly<Record<Explanation['status'], string>> = { ok: '', pending: 'waits', denied: 'bad', error: 'bad' };

function answerPart(answer: PolicyFacts['answer']): Html {
  if (answer === undefined) return nothing;
  if ('failed' in answer) return html`<p class="banner bad" role="status">${answer.failed}</p>`;
  const { status, decision, stages } = answer;
  const rows = stages.map(({ stage, decision: one, error }) => {
    const word = error === true ? t('error') : answers[one.effect];
    return [
      html`${stage}`,
      html`<span class="to-${one.effect}">${word}</span>`,
      html`${reasonWords(one)} <span class="dim">(${one.code}${rulesOf(one)})</span>`,
    ];
  });
  return html`<p class="banner ${banners[status]}" role="status"><strong>${ends[status]}</strong> ${reasonWords(decision)}</p>
${table([t('Stage'), t('Answer'), t('Why')], rows, '')}`;
}

const spans = [
  ['', t('all recorded calls')],
  ['1', t('the last day')],
  ['7', t('the last 7 days')],
  ['30', t('the last 30 days')],
] as const;

function settingsPart({ settings, puts, form }: Pick<PolicyFacts, 'settings' | 'puts' | 'form'>): Html {
  const title = html`<h2>${t('Change settings')}</h2>`;
  if (settings === undefined) return html`${title}<p class="dim">${t('Reading the settings…')}</p>`;
  if (typeof settings !== 'string') return html`${title}<p class="banner">${settings.failed}</p>`;
  return html`${title}
<p>${t('Edit what decides, and see what that would have done with the recorded calls before anything is saved. A key that is taken out has its default.')}</p>
<p><label for="edited">${t('Settings (JSON)')}</label><textarea id="edited" data-put="${puts}" data-say="edited" rows="16" spellcheck="false">${lines(settings, 400_000)}</textarea></p>
<p class="filters">${select('since', t('Against'), spans, form.since)}</p>
<p class="actions"><button type="button" class="button" data-say="replay">${t('Replay')}</button>
<button type="button" class="button quiet" data-say="save">${t('Save…')}</button>
<button type="button" class="button quiet" data-say="load">${t('Load Again')}</button></p>`;
}

export const policyStyle = `
.filters { display: flex; flex-wrap: wrap; gap: .6em 1.2em; align-items: center; }
select, input, textarea { font: inherit; color: var(--vscode-input-foreground); background: var(--vscode-input-background); border: 1px solid var(--vscode-input-border, var(--vscode-contrastBorder, var(--vscode-descriptionForeground))); padding: .2em .4em; max-width: 100%; box-sizing: border-box; }
textarea { display: block; width: 100%; margin-top: .3em; font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); }
select:focus-visible, input:focus-visible, textarea:focus-visible, summary:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 1px; }
summary { cursor: pointer; white-space: nowrap; }
.to-allow { --to: var(--vscode-charts-green); } .to-ask { --to: var(--vscode-charts-yellow); } .to-deny { --to: var(--vscode-charts-red); }
summary::marker, span.to-allow::before, span.to-ask::before, span.to-deny::before { color: var(--to); }
span.to-allow::before, span.to-ask::before, span.to-deny::before { content: "■ "; }
.matrix tbody th { font-weight: normal; white-space: normal; overflow-wrap: anywhere; min-width: 11em; color: var(--vscode-foreground); }
.matrix thead th { white-space: normal; min-width: 5em; vertical-align: bottom; }
.matrix thead .dim { font-weight: normal; overflow-wrap: anywhere; }
.matrix details { display: inline-block; vertical-align: top; margin: 0; }
.matrix summary { font-weight: normal; padding: 0; }
.matrix details p { margin: .3em 0; }
.matrix .others { color: var(--vscode-descriptionForeground); }
.wide { overflow-x: auto; }
.changes { list-style: none; padding: 0; }
.also { font-weight: 600; }
#matrix > ul, #replay > ul { margin: .6em 0 1em; }
.banner > p:first-child { margin-top: 0; }
.changes > li { margin: 0 0 1em; padding: .2em 0 .2em .8em; border-left: 4px solid var(--vscode-descriptionForeground); overflow-wrap: anywhere; }
.changes > li.looser { border-color: var(--vscode-errorForeground); }
.changes > li.tighter { border-color: var(--vscode-charts-green, var(--vscode-foreground)); }
.changes h3, .changes p { margin: .2em 0; font-size: 1em; }
@media (max-width: 520px) { .matrix tbody th { display: block; padding: 0; } }
`;

// The part of the page *Policy* that shows a replay. Pure; all from outside is escaped.

const effects = { allow: t('runs'), ask: t('asks'), deny: t('refused'), error: t('wrong in itself') };
const directions = { looser: t('Looser'), tighter: t('Tighter'), other: t('Otherwise') };

/** `isCurrent`: the settings are still those that were replayed. */
export type ReplayState =
  | { readonly progress: ReplayProgress }
  | { readonly report: ReplayReport; readonly isCurrent: boolean }
  | { readonly failed: string };

function replayMarkup(replay: ReplayState | undefined): Html {
  if (replay === undefined) return nothing;
  if ('failed' in replay) return html`<p class="banner bad" role="status">${replay.failed}</p>`;
  if ('report' in replay) return reportPart(replay.report, replay.isCurrent);
  const { records, of } = replay.progress;
  const far =
    of === undefined ? t('Replaying: {0} records…', count(records)) : t('Replaying: {0} of {1} records…', count(records), count(of));
  return html`<p role="status">${far} <button type="button" class="button quiet" data-say="cancel">${t('Cancel')}</button></p>`;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function reportPart(report: ReplayReport, isCurrent: boolean): Html {
  const { trail, differs, moreChanges } = report;
  const flaw = trail.ok
    ? nothing
    : html`<p class="banner bad">${t('The trail does not fit: {0}. Nothing from there on is used.', saidWords(trail.message))}</p>`;
  const old = isCurrent
    ? nothing
    : html`<p class="banner waits">${t('The settings were edited after this replay: replay again before you save.')}</p>`;
  const what = differs.length === 0 ? t('These are the settings that count: nothing differs.') : t('Edited: {0}.', differs.join(', '));
  const more = moreChanges === 0 ? nothing : html`<p class="dim">${t('And {0} calls more, of other kinds.', count(moreChanges))}</p>`;
  return html`<h2>${t('What would change')}</h2>${flaw}${old}<p role="status">${what}</p>${loosensPart(report)}
<ul>${sumLines(report).map((line) => html`<li>${line}</li>`)}</ul>
<ol class="changes">${report.changes.map(changeItem)}</ol>${more}
${notJudgedPart(report)}${questionsPart(report)}<ul class="dim">${report.notes.map((note) => html`<li>${note}</li>`)}</ul>`;
}

function sumLines({ calls, judged, same, changed, looser, tighter, byNow, agreement, first, last, ms }: ReplayReport): readonly string[] {
  const [all, able, not] = [count(calls), count(judged), count(calls - judged)];
  const took = (ms / 1000).toFixed(1);
  const spanned =
    first === undefined || last === undefined
      ? t('{0} calls: {1} judged in {2} s, {3} cannot be replayed.', all, able, took, not)
      : t(
          '{0} calls: {1} judged in {2} s, {3} cannot be replayed; {4} to {5}.',
          all,
          able,
          took,
          not,
          first.slice(0, 10),
          last.slice(0, 10),
        );
  return [
    spanned,
    t('{0} would be decided as now, {1} otherwise: {2} looser, {3} tighter.', count(same), count(changed), count(looser), count(tighter)),
    ...(byNow === 0
      ? []
      : [
          t(
            '{0} of the judged rest on what is so now (clusters, this machine’s view of the workspace), and not on what was then.',
            count(byNow),
          ),
        ]),
    ...(agreement.known === 0
      ? []
      : [t('{0} of {1} are decided by the present settings as the trail says they were.', count(agreement.same), count(agreement.known))]),
  ];
}

function loosensPart({ loosens }: ReplayReport): Html {
  if (loosens.length === 0) return nothing;
  const words = t(
    'This makes the settings looser. Where that is less than what a person agreed to last, it counts only once one agrees in a dialog:',
  );
  return html`<div class="banner waits"><p>${words}</p><ul>${loosens.map((line) => html`<li>${line}</li>`)}</ul></div>`;
}

function changeItem({ tool, direction, before, after, calls, byNow, agents, first, last, examples }: ReplayedChange): Html {
  const many = byNow === 0 ? t('{0} calls', count(calls)) : t('{0} calls, {1} by what is so now', count(calls), count(byNow));
  const by = agents.map(({ id, calls: own }) => `${id} (${count(own)})`).join(', ');
  const shown = examples.map(({ record, words }) => t('record {0}: {1}', record, words)).join('; ');
  return html`<li class="${direction}"><h3>${directions[direction]}: <code>${tool}</code> ${effects[before.effect]} → ${effects[after.effect]}, ${many}</h3>
<p>${t('Now:')} ${decisionWords(before)}</p><p>${t('Edited:')} ${decisionWords(after)}</p>
<p class="dim">${t('By {0}; {1} to {2}; {3}', by, first.slice(0, 10), last.slice(0, 10), shown)}</p></li>`;
}

function decisionWords({ reason, code, rules }: ReplayedDecision): Html {
  return html`${reason} <span class="dim">(${code}${rules.length === 0 ? '' : `; ${rules.join(', ')}`})</span>`;
}

function notJudgedPart({ notJudged }: ReplayReport): Html {
  if (notJudged.length === 0) return nothing;
  return html`<h3>${t('Cannot be replayed')}</h3><ul>${notJudged.map(({ why, calls }) => html`<li>${count(calls)}: ${why}</li>`)}</ul>`;
}

function questionsPart({ questions: { asked, approved, denied, red }, suggestions }: ReplayReport): Html {
  if (asked === 0) return nothing;
  const list =
    suggestions.length === 0
      ? html`<p class="dim">${t('No rule is suggested: nothing that a rule may answer was approved again and again.')}</p>`
      : html`<ol class="changes">${suggestions.map(suggestionItem)}</ol>`;
  return html`<h2>${t('Rules that would have saved questions')}</h2>
<p>${t('Questions to people: {0}, of which {1} were approved and {2} denied. About red calls, which no rule answers: {3}.', count(asked), count(approved), count(denied), count(red))}</p>${list}`;
}

function suggestionItem(suggestion: RuleSuggestion, index: number): Html {
  const { pattern, questions, approvedBy, first, last, covers, triedOn } = suggestion;
  const by = approvedBy.map(({ by: who, questions: own }) => `${who} (${count(own)})`).join(', ');
  const covered = covers.slice(0, 8).join('; ');
  return html`<li><h3><code>${pattern}</code>: ${t('would have saved {0} questions', count(questions))}</h3>
<p>${t('Approved by {0}, {1} to {2}. It covers {3}.', by, first.slice(0, 10), last.slice(0, 10), covered)}</p>${alsoLets(suggestion)}
<p class="dim">${t('Tried on {0} kinds of red, protected or refused calls of this tool: it lets none of them through.', count(triedOn))}</p>
<p class="actions"><button type="button" class="button quiet" data-say="try" data-value="${index}">${t('Try It in a Replay')}</button>
<button type="button" class="button quiet" data-say="rule" data-value="${index}">${t('Add This Rule…')}</button></p></li>`;
}

function alsoLets({ alsoLets: others, alsoLetsCalls }: RuleSuggestion): Html {
  if (alsoLetsCalls === 0) return html`<p>${t('It lets no other recorded call through.')}</p>`;
  const items = others.map(({ words, calls, denied }) => {
    const line = denied === 0 ? '' : t('(denied {0} times)', count(denied));
    return html`<li>${count(calls)}: ${words} ${line}</li>`;
  });
  return html`<p class="also">${t('It lets {0} other recorded calls through, too:', count(alsoLetsCalls))}</p><ul>${items}</ul>`;
}
