/** What people share on one store, and what of the configuration waits: each changed with a passkey, and shown as it is to be signed. */
import type { AutoApproveRule, EffectiveLevel } from '#kernel/app';
import type { PasskeyApprover, SharedView } from '#kernel/approval/passkey';
import { type AutoApproveAction, autoApproveActions, defaultRuleLifeMs, type Pause } from '#kernel/approval/security';
import { asListed, durationWords, type Message, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { type SecurityLevel, securityLevels } from '#kernel/tiers';
import { html, type Markup, marked, momentInUtc, nothing, type View } from './markup.ts';
import { displayInWords, leftWords, pauseAll, plainName } from './views.ts';

export interface SettingsContext {
  readonly approver: PasskeyApprover;
  readonly now: number;
}

export function settingsView({ level, rules, configuration }: SharedView, { approver, now }: SettingsContext): View {
  const count = configuration?.waiting.length ?? 0;
  const waits = plural(count, say`One change waits for a person.`, say`${count} changes wait for a person.`);
  return {
    title: count === 0 ? say`Settings` : say`(${count}) Settings`,
    summary: count === 0 ? say`The level is ${level.level}.` : waits,
    main: html`<h1>${say`Settings for everyone here`}</h1>
<p class="quiet">${marked(say`Changed with your passkey, as **${plainName(approver.person)}**, on a display ${displayInWords[approver.display]}.`)}</p>
${level.paused === undefined ? nothing : pausePart(level.paused)}
${configuration === undefined ? nothing : configurationPart(configuration)}
${levelPart(level)}
${rulesPart(rules, now)}
${pauseAll(level.paused)}`,
  };
}

function configurationPart({ waiting, isNew }: NonNullable<SharedView['configuration']>): Markup {
  if (waiting.length === 0 && !isNew)
    return html`<section><h2>${say`Configuration`}</h2><p>${say`Nothing waits: all of it counts, as somebody agreed to it.`}</p></section>`;
  const told =
    waiting.length === 0
      ? html`<p>${say`Nobody has agreed to all of it yet: whoever can write the file, or the editor’s settings, decides what is protected. Agree, and from then on nothing of it becomes looser without one of you.`}</p>`
      : html`<p>${say`Somebody changed it. Until a person agrees, the old values count.`}</p>
<ul class="waiting">${waiting.map((line) => html`<li>${showPlainly(line, 4_000)}</li>`)}</ul>
<p>${say`If it was none of you, do not agree, and find out who wrote it.`}</p>`;
  return html`<section class="answer" aria-labelledby="configuration"><h2 id="configuration">${waiting.length === 0 ? say`Configuration` : say`The configuration, made looser`}</h2>
${told}
<div class="buttons">${button(say`Agree to this`, { kind: 'agree', shown: waiting }, 'agree')}</div></section>`;
}

function pausePart({ by, at, reason, warning }: Pause): Markup {
  const since = at === 0 ? say`What is stored of the pause is damaged.` : html`${say`Since:`} ${momentInUtc(at)}.`;
  return html`<section class="answer" aria-labelledby="paused"><h2 id="paused">${say`All agents are paused`}</h2>
<p>${say`By ${plainName(by)}.`} ${since} ${say`They change nothing until one of you resumes them.`}</p>
${reason === undefined ? nothing : html`<p class="note">${showPlainly(reason, 300)}</p>`}
${warning === undefined ? nothing : html`<p class="notice warn">${marked(say`**Somebody changed the store:** ${saying(warning, 400)}.`)}</p>`}
<div class="buttons">${button(say`Resume all agents`, { kind: 'resume' }, 'resume')}</div></section>`;
}

/** Whole texts of ours are in the translations. */
function saying(text: string, most: number): Message {
  return { ...asListed(text), most };
}

/** What the script sends back as it stands here. */
function button(label: Message, change: object, id: string): Markup {
  return html`<button type="button" data-act="change" data-change="${JSON.stringify(change)}" id="${id}">${label}</button>`;
}

const levelWords: Readonly<Record<SecurityLevel, Message>> = {
  relaxed: say`Yellow calls run and are logged, red calls ask. Unlisted destinations: allowed, logged.`,
  balanced: say`Yellow calls run and are logged, red calls ask. Unlisted destinations ask.`,
  strict: say`Yellow and red calls ask, disruptive ones for a typed code, too. Unlisted destinations: refused.`,
};

function levelPart({ level: current, from, by, warning }: EffectiveLevel): Markup {
  const origin =
    from === 'configuration' ? say`from the configuration` : say`set by ${by === undefined ? say`somebody unknown` : plainName(by)}`;
  return html`<section aria-labelledby="level"><h2 id="level">${say`Security level: ${current}`}</h2>
<p class="quiet">${origin}</p>
${warning === undefined ? nothing : html`<p class="note">${saying(warning, 500)}</p>`}
<ul class="choices">${securityLevels.map(
    (level) => html`<li><div><strong>${level}</strong><p class="quiet">${levelWords[level]}</p></div>
${level === current ? html`<span class="chip">${say`now`}</span>` : button(say`Set to ${level}`, { kind: 'level', level }, `level-${level}`)}</li>`,
  )}</ul></section>`;
}

const actionWords: Readonly<Record<AutoApproveAction, Message>> = {
  allow: say`it runs without asking`,
  prompt: say`it asks a person`,
  block: say`it is refused`,
};

const day = 86_400_000;
const lives = [
  [say`1 hour`, day / 24],
  [say`8 hours`, defaultRuleLifeMs],
  [say`1 day`, day],
  [say`7 days`, 7 * day],
  [say`30 days`, 30 * day],
] as const;

function rulesPart(rules: readonly AutoApproveRule[], now: number): Markup {
  const list =
    rules.length === 0
      ? html`<p class="quiet">${say`There are none.`}</p>`
      : html`<ul class="choices">${rules.map((rule, index) => ruleRow(rule, index, now))}</ul>`;
  return html`<section aria-labelledby="rules"><h2 id="rules">${say`Auto-approve rules`}</h2>
<p class="quiet">${say`For yellow calls and network destinations. No rule lifts a red call, a protected target or what is forbidden, and each ends.`}</p>
${list}
<form class="newrule" data-act="rule" aria-labelledby="newrule"><h3 id="newrule">${say`A new rule`}</h3>
<p class="field"><label for="pattern">${say`What it is for`}</label><input id="pattern" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="300" aria-describedby="patternhelp"></p>
<p class="quiet" id="patternhelp">${marked(say`\`destination:registry.npmjs.org\`, \`destination:.example.org\` with what is below it, \`tool:wake_node:pve*\``)}</p>
<div class="pair"><p class="field"><label for="ruleaction">${say`What happens`}</label><select id="ruleaction">${autoApproveActions.map((action) => html`<option value="${action}">${action}: ${actionWords[action]}</option>`)}</select></p>
<p class="field"><label for="rulelife">${say`How long`}</label><select id="rulelife">${lives.map(([label, ms]) => html`<option value="${ms}">${label}</option>`)}</select></p></div>
<div class="buttons"><button id="addrule">${say`Add the rule`}</button></div></form></section>`;
}

function ruleRow({ pattern, action, by, expiresAt, warning }: AutoApproveRule, index: number, now: number): Markup {
  const left = expiresAt === 0 ? say`nobody signed it` : leftWords(durationWords(Math.max(0, expiresAt - now)));
  return html`<li><div><code class="break">${showPlainly(pattern, 300)}</code><p class="quiet">${action}: ${actionWords[action]} · ${plainName(by)} · ${left}</p>
${warning === undefined ? nothing : html`<p class="note">${saying(warning, 300)}</p>`}</div>
${button(say`Remove`, { kind: 'remove_rule', pattern }, `remove-${index}`)}</li>`;
}
