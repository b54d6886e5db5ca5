import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icon';
import { toast } from './toast';

/** Without a secure address there is no clipboard: then through a field that is selected. */
async function put(text: string) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'sr';
    const within = document.querySelector('dialog[open]') ?? document.body;
    const before = document.activeElement;
    within.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    if (before instanceof HTMLElement) before.focus();
    if (!done) throw new Error('not copied');
}

/** Copies, and says so for two seconds. */
export function useCopy(): [boolean, (text: string) => void] {
    const [isCopied, setCopied] = useState(false);
    const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    useEffect(() => () => clearTimeout(timer.current), []);
    const copy = (text: string) => {
        put(text).then(() => {
            setCopied(true);
            toast('Copied');
            clearTimeout(timer.current);
            timer.current = setTimeout(() => setCopied(false), 2000);
        }, () => toast('The browser did not allow it. Select the text and copy it.'));
    };
    return [isCopied, copy];
}

/** `label` names what is copied: 'the address'. The key for copying an id looks for one that is an id. */
export function Copy({ text, label, isId }: { text: string; label: string; isId?: boolean }) {
    const [isCopied, copy] = useCopy();
    const name = /^copy\b/i.test(label) ? label : `Copy ${label}`;
    return <button type="button" class="copy" aria-label={name} title="Copy" data-copy-id={isId}
        onClick={() => copy(text)}>
        <Icon name={isCopied ? 'check' : 'copy'} />
    </button>;
}

export function Code({ text, wrap, label = 'the text' }: { text: string; wrap?: boolean; label?: string }) {
    return <div class="code-box">
        <pre class={wrap ? 'code wrap' : 'code'} tabIndex={0}>{text}</pre>
        <Copy text={text} label={label} />
    </div>;
}
