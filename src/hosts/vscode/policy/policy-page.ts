/** The page *Policy*: who may do what and why, what a call would end with, and what other settings would have done. Pure; all from outside is escaped. */
import type { Explanation } from '#kernel/app';
import type { Decision } from '#kernel/decision';
import type { PolicyCell, PolicyMatrix, PolicyRow, PolicyScope } from '#kernel/policy-view';
import { type Html, html, lines, nothing } from '#kernel/text/html';
import { modelTiers, securityLevels, toolGroups } from '#kernel/tiers';
import { reasonWords } from '../fault-words.ts';
import { t, titleOf } from '../l10n.ts';
import { table } from '../live-shell.ts';
import { type ReplayState, replayMarkup } from './replay-page.ts';

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
const words = { allow: t('runs'), ask: t('asks'), deny: t('refused') };

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
  return html`<td data-title="${level}"><details><summary class="to-${decision.effect}">${words[decision.effect]}</summary><p>${reasonWords(decision)} <span class="dim">(${stage}${rulesOf(decision)})</span></p></details></td>`;
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
