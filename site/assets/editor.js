// The editor is in a shadow tree, where its styles need no exception of the page's policy.
import {EditorState, EditorView, HighlightStyle, basicSetup, lintGutter, setDiagnostics, syntaxHighlighting, tags, yaml}
  from './vendor/codemirror.js';
import {fieldsAt} from './fields.js';
import {placeOf} from './place.js';

const colors = HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--key)'},
  {tag: [tags.string, tags.number, tags.bool, tags.content], color: 'var(--ink)'},
  {tag: tags.comment, color: 'var(--dim)'},
  {tag: [tags.punctuation, tags.separator, tags.meta], color: 'var(--dim)'},
]);

let schema; // is fetched when it is needed

export function createEditor(host, changed) {
  const root = host.attachShadow({mode: 'open'});
  const theme = EditorView.theme({
    '&': {height: '100%', fontSize: '13px', color: 'var(--ink)', backgroundColor: 'var(--field)'},
    '.cm-gutters': {backgroundColor: 'var(--field)', color: 'var(--dim)', border: 'none'},
    '.cm-content': {caretColor: 'var(--ink)'},
    '.cm-cursor': {borderLeftColor: 'var(--ink)'},
    '.cm-activeLine, .cm-activeLineGutter': {backgroundColor: 'var(--active)'},
    '.cm-scroller': {fontFamily: 'var(--mono)'},
    '&.cm-focused': {outline: '2px solid var(--accent)'},
    '.cm-tooltip, .cm-panels': {color: 'var(--ink)', backgroundColor: 'var(--paper)'},
  });
  let quiet = false; // a change that the page makes itself
  // complete completes the name of a field in block style.
  const complete = async context => {
    const line = context.state.doc.lineAt(context.pos);
    const lines = context.state.doc.toString().split('\n');
    const place = placeOf(lines, line.number - 1, context.pos - line.from);
    if (!place || !place.word && !context.explicit) return null;
    schema ??= fetch('schema.json').then(response => response.json());
    const options = fieldsAt(await schema, place.path);
    if (!options.length) return null;
    return {
      from: context.pos - place.word.length, validFor: /^\w*$/,
      options: options.map(({label, info}) => ({label, info, type: 'property', apply: `${label}:`})),
    };
  };
  const extensions = [
    basicSetup, EditorState.languageData.of(() => [{autocomplete: complete}]),
    EditorView.lineWrapping, lintGutter(), theme, syntaxHighlighting(colors),
    EditorView.contentAttributes.of({'aria-label': 'Text of the file'}),
    EditorView.updateListener.of(update => {
      if (update.docChanged && !quiet) changed(update.state.doc.toString());
    }),
  ];
  const view = new EditorView({parent: root, root});
  const at = (line, column) => {
    const there = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    return Math.min(there.from + Math.max(column - 1, 0), there.to);
  };
  return {
    open({name, text}) { // a file has its own history
      const language = /\.(ya?ml|json)$/.test(name) ? [yaml()] : [];
      view.setState(EditorState.create({doc: text, extensions: [...extensions, language]}));
    },
    show(text) {
      const now = view.state.doc.toString();
      if (text === now) return;
      let from = 0; // only what differs changes, so that the cursor and the scroll position stay
      while (from < text.length && from < now.length && text[from] === now[from]) from++;
      let back = 0;
      while (back < Math.min(text.length, now.length) - from && text.at(-1 - back) === now.at(-1 - back)) back++;
      quiet = true;
      view.dispatch({changes: {from, to: now.length - back, insert: text.slice(from, text.length - back)}});
      quiet = false;
    },
    go(line, column) {
      const anchor = at(line, column);
      view.dispatch({selection: {anchor}, effects: EditorView.scrollIntoView(anchor, {y: 'center'})});
      view.focus();
    },
    mark(list) {
      const marks = list.map(({line, column, message}) => {
        const from = at(line, column);
        return {from, to: Math.max(from, view.state.doc.lineAt(from).to), severity: 'error', message};
      });
      view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)));
    },
    focus: () => view.focus(),
  };
}
