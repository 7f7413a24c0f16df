export {EditorView, basicSetup} from 'codemirror';
export {EditorState} from '@codemirror/state';
export {yaml} from '@codemirror/lang-yaml';
export {HighlightStyle, syntaxHighlighting} from '@codemirror/language';
export {setDiagnostics, lintGutter} from '@codemirror/lint';
export {tags} from '@lezer/highlight';
