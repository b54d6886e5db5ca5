import type { ComponentChildren, JSX, VNode } from 'preact';
import { useOwnId } from './own_id';

/** What ties an input to its label, hint and error; spread it over the input. */
export interface FieldIds {
    id: string;
    describedBy: string | undefined;
    invalid: boolean;
}

export interface FieldProps {
    label: ComponentChildren;
    hint?: ComponentChildren;
    error?: string;
    children: (ids: FieldIds) => VNode;
}

export function Field({ label, hint, error, children }: FieldProps) {
    const id = useOwnId();
    const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
    return <div class="field">
        <label for={id}>{label}</label>
        {children({ id, describedBy, invalid: error !== undefined && error !== '' })}
        {hint && <span class="hint" id={`${id}-hint`}>{hint}</span>}
        {error && <span class="error" id={`${id}-error`} role="alert">{error}</span>}
    </div>;
}

interface Tied extends Partial<FieldIds> {
    /** Where there is no label beside it. */
    label?: string;
    name?: string;
    disabled?: boolean;
    required?: boolean;
}

function tied({ id, describedBy, invalid, label, name, disabled, required }: Tied) {
    return { id, name, disabled, required, 'aria-describedby': describedBy, 'aria-invalid': invalid || undefined,
        'aria-label': label };
}

type Value = { value: string; onInput: (text: string) => void };

export interface TextInputProps extends Tied, Value {
    type?: 'text' | 'email' | 'search' | 'url' | 'password' | 'number' | 'date' | 'datetime-local';
    placeholder?: string;
    autoComplete?: string;
    inputMode?: 'text' | 'decimal' | 'numeric' | 'email' | 'url' | 'search';
    maxLength?: number;
    minLength?: number;
    pattern?: string;
    mono?: boolean;
    spellcheck?: boolean;
    autoFocus?: boolean;
    readOnly?: boolean;
    /** The key `/` goes here. */
    filter?: boolean;
    onKeyDown?: (event: JSX.TargetedKeyboardEvent<HTMLInputElement>) => void;
}

export function TextInput(props: TextInputProps) {
    const { type = 'text', value, onInput, placeholder, autoComplete = 'off', inputMode, mono } = props;
    return <input {...tied(props)} class={mono ? 'input mono' : 'input'} type={type} value={value}
        placeholder={placeholder} autoComplete={autoComplete as 'off'} inputMode={inputMode}
        maxLength={props.maxLength} minLength={props.minLength} pattern={props.pattern}
        spellcheck={props.spellcheck ?? !mono} autoFocus={props.autoFocus} readOnly={props.readOnly}
        data-filter={props.filter || undefined}
        onKeyDown={props.onKeyDown} onInput={(event) => onInput(event.currentTarget.value)} />;
}

export interface TextAreaProps extends Tied, Value {
    placeholder?: string;
    rows?: number;
    maxLength?: number;
    mono?: boolean;
    onKeyDown?: (event: JSX.TargetedKeyboardEvent<HTMLTextAreaElement>) => void;
}

export function TextArea(props: TextAreaProps) {
    const { value, onInput, placeholder, rows = 3, maxLength, mono, onKeyDown } = props;
    return <textarea {...tied(props)} class={mono ? 'input mono' : 'input'} value={value} rows={rows}
        placeholder={placeholder} maxLength={maxLength} spellcheck={!mono} onKeyDown={onKeyDown}
        onInput={(event) => onInput(event.currentTarget.value)} />;
}

/** The six digits of a mail or an authenticator. */
export function CodeInput(props: Tied & Value & { large?: boolean; autoFocus?: boolean }) {
    const { value, onInput, large, autoFocus } = props;
    return <input {...tied(props)} class={large ? 'code-input' : 'input mono'} value={value} inputMode="numeric"
        autocomplete="one-time-code" maxLength={6} placeholder={large ? undefined : '6 digits'} spellcheck={false}
        autoFocus={autoFocus} onInput={(event) => onInput(event.currentTarget.value.replace(/\D/g, ''))} />;
}

/** Units in a text, as people write them: '1.25'. */
export function AmountInput(props: Tied & Value & { unit?: string; placeholder?: string; autoFocus?: boolean }) {
    const { value, onInput, unit = 'USDC', placeholder, autoFocus } = props;
    return <div class="with-unit">
        <input {...tied(props)} class="input" value={value} inputMode="decimal" autocomplete="off" spellcheck={false}
            placeholder={placeholder} autoFocus={autoFocus}
            onInput={(event) => onInput(event.currentTarget.value.replace(',', '.'))} />
        <span aria-hidden="true">{unit}</span>
    </div>;
}

export interface SelectProps<T extends string> extends Tied {
    value: T;
    onChange: (value: T) => void;
    options: readonly (readonly [value: T, label: string])[];
}

export function Select<T extends string>(props: SelectProps<T>) {
    const { value, onChange, options } = props;
    return <select {...tied(props)} class="input" value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map(([each, label]) => <option key={each} value={each} selected={each === value}>{label}</option>)}
    </select>;
}

export interface CheckProps {
    checked: boolean;
    onChange: (checked: boolean) => void;
    label: ComponentChildren;
    hint?: ComponentChildren;
    disabled?: boolean;
}

export function Check({ checked, onChange, label, hint, disabled }: CheckProps) {
    return <label class="check">
        <input type="checkbox" checked={checked} disabled={disabled}
            onChange={(event) => onChange(event.currentTarget.checked)} />
        <span>{label}{hint && <span class="hint">{hint}</span>}</span>
    </label>;
}

export interface ChoiceProps {
    name: string;
    value: string;
    checked: boolean;
    onChange: (value: string) => void;
    label: ComponentChildren;
    hint?: ComponentChildren;
    disabled?: boolean;
}

/** One of several, as a card; put them into an element with role=radiogroup and a name. */
export function Choice({ name, value, checked, onChange, label, hint, disabled }: ChoiceProps) {
    return <label class="choice">
        <input type="radio" name={name} value={value} checked={checked} disabled={disabled}
            onChange={() => onChange(value)} />
        <span><span class="strong">{label}</span>{hint && <span class="hint">{hint}</span>}</span>
    </label>;
}

export interface SegmentedProps<T extends string> {
    label: string;
    value: T;
    onChange: (value: T) => void;
    options: readonly (readonly [value: T, label: string])[];
    fill?: boolean;
}

export function Segmented<T extends string>({ label, value, onChange, options, fill }: SegmentedProps<T>) {
    return <div class={fill ? 'seg fill' : 'seg'} role="group" aria-label={label}>
        {options.map(([each, name]) =>
            <button key={each} type="button" aria-pressed={each === value}
                onClick={() => onChange(each)}>{name}</button>)}
    </div>;
}
