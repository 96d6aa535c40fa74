import { expect, it } from 'vitest';
import { dialogColours } from '#hosts/vscode/gate/dialog-colours';

it.each<[string, unknown, readonly string[]]>([
  ['a dialog’s ground', { 'editorWidget.background': '#fff' }, ['editorWidget.background']],
  ['its letters', { foreground: '#fff', 'editorWidget.foreground': '#ffffff00' }, ['foreground', 'editorWidget.foreground']],
  ['its buttons', { 'button.secondaryForeground': '#fff' }, ['button.secondaryForeground']],
  [
    'the box that the code is typed into',
    { 'input.foreground': '#fff', 'quickInput.background': '#fff' },
    ['input.foreground', 'quickInput.background'],
  ],
  ['one theme', { '[Default Dark Modern]': { 'widget.shadow': '#fff' } }, ['widget.shadow']],
  ['several themes', { '[A][B*]': { descriptionForeground: '#fff' } }, ['descriptionForeground']],
  [
    'what tells windows apart',
    { 'titleBar.activeBackground': '#f00', 'statusBar.background': '#f00', 'activityBar.background': '#f00' },
    [],
  ],
  ['no object', 'foreground', []],
  ['nothing', undefined, []],
])('%s', (_what, customizations, found) => {
  expect(dialogColours(customizations)).toEqual(found);
});
