import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeTools } from '#app/catalog';
import { configSchema } from '#app/config/config';
import { toolSchema } from '#hosts/vscode/contributes/language-model-tools';
import { manifestParts } from '#hosts/vscode/contributes/manifest';
import { externalize, internalize } from '#hosts/vscode/contributes/nls';
import type { JsonObject } from '#kernel/json';

const manifest = JSON.parse(readFileSync(new URL('../../../../../package.json', import.meta.url), 'utf8')) as Record<string, unknown>;
const texts = JSON.parse(readFileSync(new URL('../../../../../package.nls.json', import.meta.url), 'utf8')) as Record<string, string>;
const tools = describeTools();
const parts = manifestParts(tools);
const { contributes } = parts;

it('package.json holds exactly what is derived', () => {
  const read = internalize(manifest as JsonObject, texts);
  expect(read).toMatchObject(JSON.parse(JSON.stringify(parts)));
  expect(read).toHaveProperty('contributes', JSON.parse(JSON.stringify(contributes)));
});

describe('texts in a file of their own', () => {
  it('come back as they were, each once, and every key is used', () => {
    const whole = JSON.parse(JSON.stringify(parts)) as JsonObject;
    const moved = externalize(whole);
    expect(internalize(moved.manifest, moved.texts)).toEqual(whole);
    const used = [...JSON.stringify(moved.manifest).matchAll(/"%([^"%]+)%"/g)].map(([, key]) => key);
    expect(new Set(used)).toEqual(new Set(Object.keys(moved.texts)));
    expect(new Set(Object.values(moved.texts)).size).toBe(Object.keys(moved.texts).length);
  });

  it('keep the manifest small enough to be read as structure', () => {
    expect(readFileSync(new URL('../../../../../package.json', import.meta.url)).length).toBeLessThanOrEqual(60_000);
  });

  it('are missed where a key has none', () => {
    expect(() => internalize({ title: '%nowhere%' }, {})).toThrow('nowhere');
  });
});

it('offers an MCP server only where a person turns it on: the chat has these tools already', () => {
  expect(contributes.mcpServerDefinitionProviders).toEqual([{ id: 'banksman', label: 'Banksman' }]);
  expect(contributes.configuration.properties['banksman.mcpServer']).toMatchObject({ type: 'boolean', default: false, scope: 'machine' });
});

it('uses stable API alone', () => {
  expect(manifest).not.toHaveProperty('enabledApiProposals');
  expect(contributes).not.toHaveProperty('languageModelToolSets');
});

describe('languageModelTools', () => {
  it('have every tool once that is not rare, under its prefixed name, and one for the rest', () => {
    const offered = tools.filter((tool) => tool.rare !== true).map((tool) => `banksman_${tool.name}`);
    expect(contributes.languageModelTools.map((tool) => tool.name)).toEqual([...offered, 'banksman_more_tools']);
  });

  it.each(contributes.languageModelTools)('$name is one that the agent sees', (tool) => {
    expect(tool.name).toMatch(/^(?!copilot_|vscode_)[\w-]+$/);
    expect(tool.toolReferenceName).toBe(tool.name);
    expect(tool.canBeReferencedInPrompt).toBe(true);
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(tool.modelDescription.length).toBeGreaterThan(20);
  });

  it('bring no defaults for the editor’s own confirmation card: the one prompt of a call is our dialog', () => {
    expect(contributes).not.toHaveProperty('configurationDefaults');
    expect(manifest['contributes']).not.toHaveProperty('configurationDefaults');
  });
});

describe('settings', () => {
  const properties = contributes.configuration.properties as Record<string, { scope?: string; default?: unknown; enum?: unknown[] }>;
  /** The window's own (how a person is told of requests, what the editor is offered besides), and no part of the configuration. */
  const ofWindow = ['banksman.notify', 'banksman.notifyWhen', 'banksman.mcpServer'];

  it('are all of the configuration but who approves and witnesses, and where, and only for this machine', () => {
    const ofConfiguration = Object.keys(configSchema.shape)
      .filter((key) => !['approvals', 'approvers', 'hooks', 'page', 'sinks', 'witnesses'].includes(key))
      .map((key) => `banksman.${key}`);
    expect(Object.keys(properties).sort()).toEqual([...ofConfiguration, ...ofWindow].sort());
    for (const name of ofWindow.slice(0, 2)) expect(properties[name]?.enum).toContain(properties[name]?.default);
    for (const [name, property] of Object.entries(properties)) expect(property.scope, name).toBe('machine');
    expect(parts.capabilities.untrustedWorkspaces.restrictedConfigurations.toSorted()).toEqual(Object.keys(properties).sort());
  });

  it('default to what the configuration accepts', () => {
    const defaults = Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => !ofWindow.includes(name))
        .map(([name, { default: value }]) => [name.slice('banksman.'.length), value]),
    );
    expect(configSchema.parse(defaults)).toEqual(configSchema.parse({}));
  });
});

describe('commands', () => {
  const ids = contributes.commands.map(({ command }) => command);

  it('are named once, in one category', () => {
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(contributes.commands.map(({ category }) => category))).toEqual(new Set(['Banksman']));
  });

  it('have one for each cluster action, none for a forbidden one', () => {
    expect(ids).toEqual(expect.arrayContaining(['banksman.run.stop_vm', 'banksman.run.get_vms']));
    expect(ids).not.toContain('banksman.run.reboot_node');
    expect(ids).not.toContain('banksman.run.check_request_status');
  });

  it('say by their name that none of them approves', () => {
    expect(ids.filter((id) => /approve$|accept|confirm|trust|level/i.test(id))).toEqual([
      // Opens a modal with the change; takes no argument.
      'banksman.setSecurityLevel',
    ]);
  });

  it('are all there for menus, walkthrough and welcome texts', () => {
    const used = new Set(
      JSON.stringify([contributes.menus, contributes.viewsWelcome, contributes.walkthroughs]).match(/banksman\.[a-z][\w.]*(?=["?)\\])/g),
    );
    const keys = [
      'banksman.history',
      'banksman.cluster',
      'banksman.filteredCluster',
      'banksman.filteredPending',
      'banksman.filteredHistory',
    ];
    const known = new Set([
      ...ids,
      ...keys,
      'banksman.approvals',
      'banksman.start',
      'banksman.state',
      'banksman.page',
      'banksman.looks',
      'banksman.acts',
      'banksman.clusters',
      'banksman.protected',
    ]);
    expect([...used].filter((id) => !known.has(id))).toEqual([]);
  });
});

it('names files that exist', () => {
  const named = new Set(JSON.stringify(parts).match(/media\/[\w/.-]+\.\w+/g));
  expect(named.size).toBeGreaterThan(5);
  for (const file of named) expect(readFileSync(new URL(`../../../../../${file}`, import.meta.url)).length, file).toBeGreaterThan(100);
});

describe('toolSchema', () => {
  const property = { type: 'string', description: 'd' };
  it.each([
    [{ type: 'array' }, 'must be an object'],
    [{ type: 'object', anyOf: [] }, '`anyOf` at the root'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, 'needs a description'],
    [{ type: 'object', properties: { a: { description: 'd' } } }, 'has no type'],
    [{ type: 'object', properties: { a: { type: 'array', description: 'd' } } }, 'needs `items`'],
    [{ type: 'object', properties: { a: property }, required: ['b'] }, '`b` is required but not declared'],
  ])('refuses what a chat would drop: %j', (schema, message) => {
    expect(() => toolSchema('x', schema)).toThrow(message);
  });

  it('keeps only what a model reads', () => {
    expect(toolSchema('x', { $schema: 's', type: 'object', properties: { a: property }, required: ['a'], title: 't' })).toEqual({
      type: 'object',
      properties: { a: property },
      required: ['a'],
      additionalProperties: false,
    });
  });
});

it('no step of the walkthrough is done by opening the view that its link stands in', () => {
  const { walkthroughs } = contributes as unknown as {
    walkthroughs: readonly { steps: readonly { completionEvents: readonly string[] }[] }[];
  };
  const events = walkthroughs.flatMap(({ steps }) => steps.flatMap(({ completionEvents }) => completionEvents));
  expect(events.length).toBeGreaterThan(5);
  expect(events.filter((event) => event.startsWith('onView:'))).toEqual([]);
});

it('no button of ours looks like one that only closes something', () => {
  const { commands } = contributes as unknown as { commands: readonly { command: string; icon?: string }[] };
  expect(commands.find(({ command }) => command === 'banksman.deny')?.icon).toBe('$(circle-slash)');
  expect(commands.filter(({ icon = '' }) => /\((?:[\w-]*close[\w-]*|x|trash|error|remove)\)/.test(icon))).toEqual([]);
});
