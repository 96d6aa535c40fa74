/** Colours that a repository gives to dialogs: who cannot read one must not be asked by it. */
import { isJsonObject } from '#kernel/json';

/** What a dialog and the box that its code is typed into are drawn with (the editor's theme colour reference). */
const drawn = [
  /^(?:foreground|descriptionForeground|disabledForeground|errorForeground|focusBorder|icon\.foreground)$/,
  /^(?:button|checkbox|editorWidget|input|inputOption|inputValidation|widget)\./,
  /^(?:pickerGroup|quickInput|quickInputList|quickInputTitle)\./,
  /^problems(?:Error|Info|Warning)Icon\./,
];

/** Those named in `workbench.colorCustomizations`, also for one theme (`"[Some Theme]": { … }`). */
export function dialogColours(customizations: unknown): readonly string[] {
  if (!isJsonObject(customizations)) return [];
  return Object.entries(customizations).flatMap(([key, value]) => {
    if (key.startsWith('[')) return dialogColours(value);
    return drawn.some((pattern) => pattern.test(key)) ? [key] : [];
  });
}
