import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icon';
import { useOwnId } from './own_id';

export interface SheetProps {
    title: ComponentChildren;
    open: boolean;
    onClose: () => void;
    actions?: ComponentChildren;
    /** With it the sheet is a form, and a button of type submit among the actions sends it. */
    onSubmit?: () => void;
    children?: ComponentChildren;
}

/** The browser's own dialog: it holds the focus, Esc closes it, and the opener gets the focus back. */
export function Sheet({ title, open, onClose, actions, onSubmit, children }: SheetProps) {
    const dialog = useRef<HTMLDialogElement>(null);
    const heading = useOwnId();
    useEffect(() => {
        const element = dialog.current;
        if (!open || !element) return;
        const opener = document.activeElement;
        if (!element.open) element.showModal();
        return () => {
            element.close();
            // The dialog is gone from the page by now, and what it remembered with it.
            if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
        };
    }, [open]);
    if (!open) return null;
    const inside = <>
        <div class="sheet-head">
            <h2 id={heading}>{title}</h2>
            <button type="button" class="copy" aria-label="Close" onClick={onClose}><Icon name="close" /></button>
        </div>
        {children}
        {actions && <div class="actions">{actions}</div>}
    </>;
    const send = (event: Event) => {
        event.preventDefault();
        event.stopPropagation();
        onSubmit?.();
    };
    return <dialog ref={dialog} class="sheet-dialog" aria-labelledby={heading}
        onCancel={(event) => { event.preventDefault(); onClose(); }}>
        {onSubmit ? <form class="sheet" onSubmit={send} noValidate>{inside}</form> : <div class="sheet">{inside}</div>}
    </dialog>;
}
