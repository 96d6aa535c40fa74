/** What people share on one store, and what of the configuration waits: each changed with a passkey, and shown as it is to be signed. */
import type { AutoApproveRule, EffectiveLevel } from '#kernel/app';
import type { PasskeyApprover, SharedView } from '#kernel/approval/passkey';
import { type AutoApproveAction, autoApproveActions, defaultRuleLifeMs, type Pause } from '#kernel/approval/security';
import { type Html, html, nothing } from '#kernel/text/html';
import { durationWords, english } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { displayInWords, pauseAll, plainName, type View } from './views.ts';

export interface SettingsContext {
  readonly approver: PasskeyApprover;
  readonly now: number;
}

export function settingsView({ level, rules, configuration }: SharedView, { approver, now }: SettingsContext): View {
  const count = configuration?.waiting.length ?? 0;
  const summary =
    count === 0 ? `The level is ${level.level}.` : `${count === 1 ? 'One change waits' : `${count} changes wait`} for a person.`;
  return {
    title: count === 0 ? 'Settings' : `(${count}) Settings`,
    summary,
    main: html`<h1>Settings for everyone here</h1>
<p class="quiet">Changed with your passkey, as <strong>${plainName(approver.person)}</strong>, on a display ${displayInWords[approver.display]}.</p>
${level.paused === undefined ? nothing : pausePart(level.paused)}
${configuration === undefined ? nothing : configurationPart(configuration)}
${levelPart(level)}
${rulesPart(rules, now)}
${pauseAll(level.paused)}`.markup,
  };
}

function configurationPart({ waiting, isNew }: NonNullable<SharedView['configuration']>): Html {
  if (waiting.length === 0 && !isNew)
    return html`<section><h2>Configuration</h2><p>Nothing waits: all of it counts, as somebody agreed to it.</p></section>`;
  const told =
    waiting.length === 0
      ? html`<p>Nobody has agreed to all of it yet: whoever can write the file, or the editor’s settings, decides what is protected. Agree, and from then on nothing of it becomes looser without one of you.</p>`
      : html`<p>Somebody changed it. Until a person agrees, the old values count.</p>
<ul class="waiting">${waiting.map((line) => html`<li>${showPlainly(line, 4_000)}</li>`)}</ul>
<p>If it was none of you, do not agree, and find out who wrote it.</p>`;
  return html`<section class="answer" aria-labelledby="configuration"><h2 id="configuration">${waiting.length === 0 ? 'Configuration' : 'The configuration, made looser'}</h2>
${told}
<div class="buttons">${button('Agree to this', { kind: 'agree', shown: waiting }, 'agree')}</div></section>`;
}

function pausePart({ by, at, reason, warning }: Pause): Html {
  const since =
    at === 0 ? 'What is stored of the pause is damaged.' : `Since ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  return html`<section class="answer" aria-labelledby="paused"><h2 id="paused">All agents are paused</h2>
<p>By ${plainName(by)}. ${since} They change nothing until one of you resumes them.</p>
${reason === undefined ? nothing : html`<p class="note">${showPlainly(reason, 300)}</p>`}
${warning === undefined ? nothing : html`<p class="notice warn"><strong>Somebody changed the store:</strong> ${showPlainly(warning, 400)}.</p>`}
<div class="buttons">${button('Resume all agents', { kind: 'resume' }, 'resume')}</div></section>`;
}

/** What the script sends back as it stands here. */
function button(label: string, change: object, id: string): Html {
  return html`<button type="button" data-act="change" data-change="${JSON.stringify(change)}" id="${id}">${label}</button>`;
}

const levelWords: Readonly<Record<SecurityLevel, string>> = {
  relaxed: 'Yellow calls run and are logged, red calls ask. Unlisted destinations: allowed, logged.',
  balanced: 'Yellow calls run and are logged, red calls ask. Unlisted destinations ask.',
  strict: 'Yellow and red calls ask, disruptive ones for a typed code, too. Unlisted destinations: refused.',
};

function levelPart({ level: current, from, by, warning }: EffectiveLevel): Html {
  const origin = from === 'configuration' ? 'from the configuration' : `set by ${plainName(by ?? 'somebody unknown')}`;
  return html`<section aria-labelledby="level"><h2 id="level">Security level: ${current}</h2>
<p class="quiet">${origin}</p>
${warning === undefined ? nothing : html`<p class="note">${showPlainly(warning, 500)}</p>`}
<ul class="choices">${securityLevels.map(
    (level) => html`<li><div><strong>${level}</strong><p class="quiet">${levelWords[level]}</p></div>
${level === current ? html`<span class="chip">now</span>` : button(`Set to ${level}`, { kind: 'level', level }, `level-${level}`)}</li>`,
  )}</ul></section>`;
}

const actionWords: Readonly<Record<AutoApproveAction, string>> = {
  allow: 'runs without asking',
  prompt: 'asks a person',
  block: 'is refused',
};

const day = 86_400_000;
const lives = [
  ['1 hour', day / 24],
  ['8 hours', defaultRuleLifeMs],
  ['1 day', day],
  ['7 days', 7 * day],
  ['30 days', 30 * day],
] as const;

function rulesPart(rules: readonly AutoApproveRule[], now: number): Html {
  const list =
    rules.length === 0
      ? html`<p class="quiet">There are none.</p>`
      : html`<ul class="choices">${rules.map((rule, index) => ruleRow(rule, index, now))}</ul>`;
  return html`<section aria-labelledby="rules"><h2 id="rules">Auto-approve rules</h2>
<p class="quiet">For yellow calls and network destinations. No rule lifts a red call, a protected target or what is forbidden, and each ends.</p>
${list}
<form class="newrule" data-act="rule" aria-labelledby="newrule"><h3 id="newrule">A new rule</h3>
<p class="field"><label for="pattern">What it is for</label><input id="pattern" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="300" aria-describedby="patternhelp"></p>
<p class="quiet" id="patternhelp"><code>destination:registry.npmjs.org</code>, <code>destination:.example.org</code> with what is below it, <code>tool:wake_node:pve*</code></p>
<div class="pair"><p class="field"><label for="ruleaction">What happens</label><select id="ruleaction">${autoApproveActions.map((action) => html`<option value="${action}">${action}: it ${actionWords[action]}</option>`)}</select></p>
<p class="field"><label for="rulelife">How long</label><select id="rulelife">${lives.map(([label, ms]) => html`<option value="${ms}">${label}</option>`)}</select></p></div>
<div class="buttons"><button id="addrule">Add the rule</button></div></form></section>`;
}

function ruleRow({ pattern, action, by, expiresAt, warning }: AutoApproveRule, index: number, now: number): Html {
  const left = expiresAt === 0 ? 'nobody signed it' : `${english(durationWords(Math.max(0, expiresAt - now)))} left`;
  return html`<li><div><code class="break">${showPlainly(pattern, 300)}</code><p class="quiet">${action}: it ${actionWords[action]} · ${plainName(by)} · ${left}</p>
${warning === undefined ? nothing : html`<p class="note">${showPlainly(warning, 300)}</p>`}</div>
${button('Remove', { kind: 'remove_rule', pattern }, `remove-${index}`)}</li>`;
}
