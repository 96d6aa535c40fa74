import { expect, it } from 'vitest';
import { toolOwner } from '../../../../../src/hosts/vscode/hooks/tool-owner.ts';

const extension = (id: string, ...names: readonly string[]) => ({
  id,
  packageJSON: { contributes: { languageModelTools: names.map((name) => ({ name, modelDescription: `${id} ${name}` })) } },
});
const own = extension('banksman.banksman', 'banksman_get_vms', 'banksman_more_tools');
const offered = ['banksman_get_vms', 'banksman_more_tools'].map((name) => ({ name, description: `banksman.banksman ${name}` }));
const builtIn = [{ id: 'vscode.git', packageJSON: {} }, { id: 'odd', packageJSON: { contributes: { languageModelTools: 'none' } } }, own];

it.each<[string, string, ReturnType<typeof toolOwner>, object?]>([
  ['what our manifest contributes', 'banksman_get_vms', 'own'],
  ['the drawer', 'banksman_more_tools', 'own'],
  ['a name that is none of ours', 'banksman_open_shell', undefined],
  ['another case', 'Banksman_get_vms', undefined],
  ['no tool of an extension', 'read_file', undefined],
  ['one of another extension', 'banksman_open_shell', 'foreign', { extensions: [own, extension('x.y', 'banksman_open_shell')] }],
  [
    'one that another extension contributes as well',
    'banksman_get_vms',
    'foreign',
    { extensions: [extension('x.y', 'banksman_get_vms'), own] },
  ],
  ['one named as the agent’s', 'memory', 'foreign', { extensions: [own, extension('x.y', 'Memory')] }],
  ['ours, which the editor does not offer', 'banksman_get_vms', undefined, { offered: [] }],
  [
    'another’s, which the editor offers in its place',
    'banksman_get_vms',
    undefined,
    { offered: [{ name: 'banksman_get_vms', description: 'other' }] },
  ],
])('%s: %s is %s', (_what, tool, owner, more = {}) => {
  expect(toolOwner(tool, { own, extensions: builtIn, offered, ...more })).toBe(owner);
});
