import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editText } from '#kernel/text/text-edits';

const edit = (oldText: string, newText: string, all?: boolean) => ({ old_text: oldText, new_text: newText, all });

describe('editing a text', () => {
  it('replaces what is there once, one edit after the other', () => {
    expect(editText('a b c', [edit('b', 'x'), edit('x c', 'y')])).toEqual({ ok: true, text: 'a y', replacements: 2 });
    expect(editText('a', [edit('a', '')])).toEqual({ ok: true, text: '', replacements: 1 });
  });

  it('replaces all only where that is asked for', () => {
    expect(editText('x\ny x\n', [edit('x', 'z')])).toEqual({ ok: false, edit: 1, why: 'not_unique', lines: [1, 2] });
    expect(editText('x\ny x\n', [edit('x', 'z', true)])).toEqual({ ok: true, text: 'z\ny z\n', replacements: 2 });
    expect(editText('aaa', [edit('aa', 'b')])).toMatchObject({ ok: false, why: 'not_unique' });
  });

  it('says which edit does not fit', () => {
    expect(editText('a', [edit('a', 'b'), edit('a', 'c')])).toEqual({ ok: false, edit: 2, why: 'not_found', lines: [] });
    expect(editText('a', [edit('a', 'a')])).toMatchObject({ ok: false, edit: 1, why: 'no_change' });
    expect(editText('a', [edit('', 'b')])).toMatchObject({ ok: false, why: 'not_found' });
  });

  it('takes the new text as it is', () => {
    expect(editText('a', [edit('a', "$& $1 $' \\n")])).toMatchObject({ text: "$& $1 $' \\n" });
  });

  it('keeps CR LF where every line ends so, and touches nothing where ends are mixed', () => {
    expect(editText('a\r\nb\r\n', [edit('a\nb', 'x\ny')])).toMatchObject({ text: 'x\r\ny\r\n' });
    expect(editText('a\r\nb\n', [edit('a\nb', 'x')])).toMatchObject({ why: 'not_found' });
    expect(editText('a\r\nb\n', [edit('a\r\nb', 'x')])).toMatchObject({ text: 'x\n' });
  });

  it('is undone by the reverse edit', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), fc.string(), (before, old, fresh, after) => {
        const text = `${before}\u0001${old}\u0001${after}`;
        fc.pre(!before.includes('\u0001') && !old.includes('\u0001') && !fresh.includes('\u0001') && !after.includes('\u0001'));
        fc.pre(old !== fresh && !/[\r\n]/.test(text + fresh));
        const [there, back] = [edit(`\u0001${old}\u0001`, `\u0001${fresh}\u0001`), edit(`\u0001${fresh}\u0001`, `\u0001${old}\u0001`)];
        expect(editText(text, [there, back])).toEqual({ ok: true, text, replacements: 2 });
      }),
    );
  });
});
