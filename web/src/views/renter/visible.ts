// What strangers' programs write is shown as text: nothing in it may move a cursor, hide or turn words.
const escapes = /\x1b\[[0-?]*[ -/]*[@-~]/g;
const unseen = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff]/g;

function shown(character: string): string {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** Line ends and tabs stay, every other control character becomes one that is seen. */
export function visible(text: string): string {
    return text.replace(/\r\n/g, '\n').replace(unseen, shown);
}

/** For logs, which are full of colours: those go, the rest becomes visible. */
export function visibleLog(text: string): string {
    return visible(text.replace(escapes, '').replace(/[^\n]*\r(?!\n)/g, ''));
}
