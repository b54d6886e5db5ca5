import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon';

export interface ButtonProps {
    kind?: 'primary' | 'danger' | 'quiet' | 'tint';
    small?: boolean;
    wide?: boolean;
    /** Keeps the focus, takes no second press. */
    busy?: boolean;
    disabled?: boolean;
    type?: 'button' | 'submit';
    icon?: IconName;
    /** Names a button that has an icon alone. */
    label?: string;
    onClick?: (event: MouseEvent) => void;
    href?: string;
    pressed?: boolean;
    /** The form it belongs to, when it stands outside. */
    form?: string;
    children?: ComponentChildren;
}

export function Button(props: ButtonProps) {
    const { kind, small, wide, busy, disabled, type = 'button', icon, label, onClick, href, pressed, form } = props;
    const names = ['btn', kind, small && 'small', wide && 'wide', !props.children && icon && 'square'];
    const looks = names.filter(Boolean).join(' ');
    const inside = <>{icon && <Icon name={icon} />}{props.children}</>;
    if (href !== undefined) return <a class={looks} href={href} aria-label={label} onClick={onClick}>{inside}</a>;
    const press = (event: MouseEvent) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
    };
    return <button class={looks} type={type} disabled={disabled} aria-busy={busy} aria-label={label}
        aria-pressed={pressed} form={form} onClick={press}>{inside}</button>;
}
