/** The part of the page *Policy* that shows a replay. Pure; all from outside is escaped. */
import type { ReplayedChange, ReplayedDecision, ReplayProgress, ReplayReport, RuleSuggestion } from '#kernel/policy-view';
import { type Html, html, nothing } from '#kernel/text/html';

const effects = { allow: 'runs', ask: 'asks', deny: 'refused', error: 'wrong in itself' } as const;

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
  const far = of === undefined ? `${count(records)} records` : `${count(records)} of ${count(of)} records`;
  return html`<p role="status">Replaying: ${far}… <button type="button" class="button quiet" data-say="cancel">Cancel</button></p>`;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function reportPart(report: ReplayReport, isCurrent: boolean): Html {
  const { trail, calls, judged, same, changed, looser, tighter, byNow, agreement, moreChanges } = report;
  const flaw = trail.ok
    ? nothing
    : html`<p class="banner bad">The trail does not fit: ${trail.message}. Nothing from there on is used.</p>`;
  const old = isCurrent
    ? nothing
    : html`<p class="banner waits">The settings were edited after this replay: replay again before you save.</p>`;
  const spanned = report.first === undefined ? '' : `, ${report.first.slice(0, 10)} to ${report.last?.slice(0, 10) ?? ''}`;
  const sums = [
    `${count(calls)} calls${spanned}: ${count(judged)} judged in ${(report.ms / 1000).toFixed(1)} s, ${count(calls - judged)} cannot be replayed.`,
    `${count(same)} would be decided as now, ${count(changed)} otherwise: ${count(looser)} looser, ${count(tighter)} tighter.`,
    ...(byNow === 0
      ? []
      : [
          `${count(byNow)} of the judged rest on what is so now (clusters, this machine’s view of the workspace), and not on what was then.`,
        ]),
    ...(agreement.known === 0
      ? []
      : [`${count(agreement.same)} of ${count(agreement.known)} are decided by the present settings as the trail says they were.`]),
  ];
  return html`<h2>What would change</h2>${flaw}${old}<p role="status">${differsWords(report)}</p>${loosensPart(report)}
<ul>${sums.map((line) => html`<li>${line}</li>`)}</ul>
<ol class="changes">${report.changes.map(changeItem)}</ol>
${moreChanges === 0 ? nothing : html`<p class="dim">And ${count(moreChanges)} calls more, of other kinds.</p>`}
${notJudgedPart(report)}${questionsPart(report)}<p class="dim">${report.notes.map((note) => html`Note: ${note}.<br>`)}</p>`;
}

function differsWords({ differs }: ReplayReport): string {
  return differs.length === 0 ? 'These are the settings that count: nothing differs.' : `Edited: ${differs.join(', ')}.`;
}

function loosensPart({ loosens }: ReplayReport): Html {
  if (loosens.length === 0) return nothing;
  return html`<div class="banner waits"><p>This makes the settings looser. Saved, it counts only once a person has agreed in a dialog:</p><ul>${loosens.map((line) => html`<li>${line}</li>`)}</ul></div>`;
}

function changeItem({ tool, direction, before, after, calls, byNow, agents, first, last, examples }: ReplayedChange): Html {
  const now = byNow === 0 ? '' : `, ${count(byNow)} by what is so now`;
  return html`<li class="${direction}"><h3>${direction === 'other' ? '' : `${direction}: `}<code>${tool}</code> ${effects[before.effect]} → ${effects[after.effect]}, ${count(calls)} call${calls === 1 ? '' : 's'}${now}</h3>
<p>Now: ${decisionWords(before)}</p><p>Edited: ${decisionWords(after)}</p>
<p class="dim">By ${agents.map(({ id, calls: own }) => `${id} (${count(own)})`).join(', ')}; ${first.slice(0, 10)} to ${last.slice(0, 10)}; ${examples.map(({ record, words }) => `record ${record}: ${words}`).join('; ')}</p></li>`;
}

function decisionWords({ reason, code, rules }: ReplayedDecision): Html {
  return html`${reason} <span class="dim">(${code}${rules.length === 0 ? '' : `; ${rules.join(', ')}`})</span>`;
}

function notJudgedPart({ notJudged }: ReplayReport): Html {
  if (notJudged.length === 0) return nothing;
  return html`<h3>Cannot be replayed</h3><ul>${notJudged.map(({ why, calls }) => html`<li>${count(calls)}: ${why}</li>`)}</ul>`;
}

function questionsPart({ questions: { asked, approved, denied, red }, suggestions }: ReplayReport): Html {
  if (asked === 0) return nothing;
  const none = html`<p class="dim">No rule is suggested: nothing that a rule may answer was approved again and again.</p>`;
  return html`<h2>Rules that would have saved questions</h2>
<p>People were asked ${count(asked)} times: ${count(approved)} approved, ${count(denied)} denied. ${count(red)} were about red calls, which no rule answers.</p>
${suggestions.length === 0 ? none : html`<ol class="changes">${suggestions.map(suggestionItem)}</ol>`}`;
}

function suggestionItem(
  { pattern, questions, approvedBy, first, last, covers, alsoLets, alsoLetsCalls, triedOn }: RuleSuggestion,
  index: number,
): Html {
  const by = approvedBy.map(({ by: who, questions: own }) => `${who} (${count(own)})`).join(', ');
  const others = alsoLets.map(
    ({ words, calls, denied }) => html`<li>${count(calls)}: ${words}${denied === 0 ? '' : ` (denied ${count(denied)} times)`}</li>`,
  );
  const lets =
    alsoLetsCalls === 0
      ? html`<p>It lets no other recorded call through.</p>`
      : html`<p class="ask">It lets ${count(alsoLetsCalls)} other recorded calls through, too:</p><ul>${others}</ul>`;
  return html`<li><h3><code>${pattern}</code> would have saved ${count(questions)} questions</h3>
<p>Approved by ${by}, ${first.slice(0, 10)} to ${last.slice(0, 10)}. It covers ${covers.slice(0, 8).join('; ')}.</p>${lets}
<p class="dim">Tried on ${count(triedOn)} kinds of red, protected or refused calls of this tool: it lets none of them through.</p>
<p class="actions"><button type="button" class="button quiet" data-say="try" data-value="${index}">Try It in a Replay</button>
<button type="button" class="button quiet" data-say="rule" data-value="${index}">Add This Rule…</button></p></li>`;
}
