/** The page of `Banksman: Doctor` as markup: each check with its state, and what to do next where there is something to do. Everything from outside is escaped. */

import type { Finding } from '#kernel/app';
import { Html, html, nothing } from '#kernel/text/html';
import { findingTexts, topicOf } from '../fault-words.ts';
import { t } from '../l10n.ts';

export const doctorParts = ['state', 'findings'] as const;

export interface DoctorFacts {
  /** undefined: the first look is not over. */
  readonly findings: readonly Finding[] | undefined;
  readonly isLooking: boolean;
  /** Why there is nothing to look at. */
  readonly failed?: string;
}

/** SECURITY: what a button of the page may run. None decides or loosens anything; what follows asks. */
export const doctorSteps = {
  connect: { command: 'banksman.connectCluster' },
  demo: { command: 'banksman.startDemo' },
  token: { command: 'banksman.setClusterToken' },
  agree: { command: 'banksman.agreeConfiguration' },
  protect: { command: 'banksman.openSettings', argument: 'protected' },
  clusters: { command: 'banksman.openSettings', argument: 'clusters' },
} as const satisfies Readonly<Record<string, { readonly command: string; readonly argument?: string }>>;

export type DoctorStep = keyof typeof doctorSteps;

export function doctorMarkup({ findings, isLooking, failed }: DoctorFacts): Record<(typeof doctorParts)[number], string> {
  const again = html`<p class="actions"><button class="button quiet" data-say="again"${isLooking ? new Html(' disabled') : nothing}>${isLooking ? t('Looking…') : t('Look Again')}</button></p>`;
  if (failed !== undefined) return { state: html`<p class="banner bad" role="status">${failed}</p>${again}`.markup, findings: '' };
  if (findings === undefined) return { state: html`<p role="status">${t('Looking…')}</p>`.markup, findings: '' };
  const groups = states.map(({ state, title }) => ({ state, title, found: findings.filter((one) => one.state === state) }));
  return {
    state: html`${banner(findings)}${again}`.markup,
    findings: html`${groups.map(({ title, found }) => (found.length === 0 ? nothing : html`<h2>${title()}</h2>${findingTable(found)}`))}`
      .markup,
  };
}

/** What wants attention comes first; within each the order in which it was looked at. */
const states = [
  { state: 'failed', title: () => t('Does not work') },
  { state: 'warning', title: () => t('Could be better') },
  { state: 'ok', title: () => t('Works') },
] as const;

function banner(findings: readonly Finding[]): Html {
  const failed = findings.filter(({ state }) => state === 'failed').length;
  const warned = findings.filter(({ state }) => state === 'warning').length;
  const better = warned === 0 ? '' : warned === 1 ? t('1 thing could be better.') : t('{0} things could be better.', warned);
  if (failed === 0)
    return html`<p class="banner good" role="status"><strong>${t('✔ Everything that was tried works.')}</strong> ${better}</p>`;
  const words = failed === 1 ? t('✘ 1 thing does not work.') : t('✘ {0} things do not work.', failed);
  return html`<p class="banner bad" role="status"><strong>${words}</strong> ${better}</p>`;
}

const marks: Record<Finding['state'], string> = { ok: '✔', warning: '⚠', failed: '✘' };

function findingTable(findings: readonly Finding[]): Html {
  const words: Record<Finding['state'], string> = {
    ok: t('works'),
    warning: t('could be better'),
    failed: t('does not work'),
  };
  const rows = findings.map(
    (
      finding,
    ) => html`<tr><td class="${finding.state}"><span aria-hidden="true">${marks[finding.state]}</span><span class="unseen">${words[finding.state]}</span></td><th scope="row">${topicOf(finding)}</th>
<td>${withCode(findingTexts(finding).message)}${remedy(finding)}</td></tr>`,
  );
  return html`<table class="rows findings"><tbody>${rows}</tbody></table>`;
}

function remedy(finding: Finding): Html {
  const buttons = stepsFor(finding).map(
    (step) => html`<button class="button quiet" data-say="do" data-value="${step}">${labels[step]()}</button>`,
  );
  const { remedy: next } = findingTexts(finding);
  const text = next === undefined ? nothing : html`<p class="remedy"><strong>${t('Next:')}</strong> ${withCode(next)}</p>`;
  return html`${text}${buttons.length === 0 ? nothing : html`<p class="actions">${buttons}</p>`}`;
}

const labels: Readonly<Record<DoctorStep, () => string>> = {
  connect: () => t('Connect a Cluster…'),
  demo: () => t('Start the Demo Cluster'),
  token: () => t('Set API Token…'),
  agree: () => t('Agree to the Configuration…'),
  protect: () => t('Open the Setting'),
  clusters: () => t('Open the Setting'),
};

function stepsFor({ topic, state, message }: Finding): readonly DoctorStep[] {
  if (state === 'ok') return [];
  if (topic === 'clusters') return ['connect', 'demo'];
  if (topic === 'configuration') return state === 'failed' ? ['agree'] : [];
  if (topic === 'protected') return ['protect'];
  if (/^(?:no_token|bad_token|token_elsewhere|pve_unauthorized):/.test(message)) return ['token'];
  return topic.startsWith('cluster ') ? ['clusters'] : [];
}

/** What stands between backticks is there to be copied. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

export const doctorStyle = `
.banner { font-size: 1.1em; }
.banner.good { border-color: var(--vscode-charts-green, var(--vscode-foreground)); }
.findings td, .findings th { overflow-wrap: anywhere; }
.findings td:first-child { width: 1.5em; padding-right: .6em; }
.findings th { white-space: normal; width: 28%; }
.failed { color: var(--vscode-errorForeground); }
.warning { color: var(--vscode-editorWarning-foreground); }
.ok { color: var(--vscode-charts-green, var(--vscode-foreground)); }
.remedy { margin: .3em 0; color: var(--vscode-descriptionForeground); }
.remedy strong { font-weight: 600; }
.findings .actions { margin: .5em 0; }
.button[disabled] { opacity: .6; cursor: default; }
`;
