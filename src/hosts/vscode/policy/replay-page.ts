/** The part of the page *Policy* that shows a replay. Pure; all from outside is escaped. */
import type { ReplayedChange, ReplayedDecision, ReplayProgress, ReplayReport, RuleSuggestion } from '#kernel/policy-view';
import { type Html, html, nothing } from '#kernel/text/html';
import { saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';

const effects = { allow: t('runs'), ask: t('asks'), deny: t('refused'), error: t('wrong in itself') };
const directions = { looser: t('Looser'), tighter: t('Tighter'), other: t('Otherwise') };

/** `isCurrent`: the settings are still those that were replayed. */
export type ReplayState =
  | { readonly progress: ReplayProgress }
  | { readonly report: ReplayReport; readonly isCurrent: boolean }
  | { readonly failed: string };

export function replayMarkup(replay: ReplayState | undefined): Html {
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
