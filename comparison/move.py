"""Merge and move modules of the package by a map. usage: move.py MAP ROOT [--dry]"""
import ast, builtins, collections, pathlib, re, sys, subprocess
PK="rashomon_explorer"
mapfile, root = sys.argv[1], pathlib.Path(sys.argv[2])
DRY="--dry" in sys.argv
P=root/PK
class Mod: pass
mods={}
for f in sorted(P.rglob("*.py")):
    m=Mod(); m.path=f; m.name=".".join(f.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    m.pkg=f.name=="__init__.py"; m.src=f.read_text(); m.tree=ast.parse(m.src); mods[m.name]=m
# ---- map
new_of={}; docs={}; INIT={}; groups=collections.OrderedDict(); renames={}; drop=set(); pkgnew=set()
def full(x): x=x.removesuffix(".__init__"); return PK if x in("","__init__") else f"{PK}.{x}"
for line in open(mapfile):
    line=line.split("#")[0].rstrip()
    if not line.strip(): continue
    if line.startswith("!rename"):
        _,a,b=line.split(); mod,n=a.split(":"); renames[full(mod),n]=b; continue
    if line.startswith("!init"):
        _,a,b=line.split(None,2); INIT[full(a)]=b; continue
    if line.startswith("!drop"):
        for x in line.split()[1:]: drop.add(full(x))
        continue
    head,rest=line.rsplit(":",1)
    doc=None
    if "|" in head: head,doc=head.split("|",1); doc=doc.strip()
    if "||" in rest: rest,doc=rest.split("||",1); doc=doc.strip()
    head=head.strip(); n=full(head); ispk=head.endswith("__init__")
    olds=[full(o) for o in rest.split()]
    for o in olds:
        assert o in mods,("unknown",o); assert o not in new_of,("twice",o)
        new_of[o]=n
    groups[n]=olds
    if doc: docs[n]=doc
    if ispk: pkgnew.add(n)
for name,m in mods.items():
    if name in new_of or name in drop: continue
    # unmentioned: stays
    new_of[name]=name; groups[name]=[name]
    if m.pkg: pkgnew.add(name)
# ---- bindings and definitions
def targets(t):
    if isinstance(t,ast.Name): yield t.id
    elif isinstance(t,(ast.Tuple,ast.List)):
        for e in t.elts: yield from targets(e)
    elif isinstance(t,ast.Starred): yield from targets(t.value)
def is_tc(node): return isinstance(node,ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
for m in mods.values():
    m.defs=set(); m.imports={}  # name -> (module, orig or None)
    m.all=None
    def scan(body):
        for s in body:
            if isinstance(s,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef)): m.defs.add(s.name)
            elif isinstance(s,ast.Assign):
                for t in s.targets: m.defs.update(targets(t))
                if any(getattr(t,"id","")=="__all__" for t in s.targets):
                    m.all=ast.literal_eval(s.value) if isinstance(s.value,(ast.List,ast.Tuple)) and all(isinstance(e,ast.Constant) for e in s.value.elts) else None
            elif isinstance(s,ast.AnnAssign): m.defs.update(targets(s.target))
            elif isinstance(s,ast.TypeAlias) if hasattr(ast,"TypeAlias") else False: m.defs.add(s.name.id)
            elif isinstance(s,ast.ImportFrom):
                for a in s.names: m.imports[a.asname or a.name]=(s.module,a.name)
            elif isinstance(s,ast.Import):
                for a in s.names: m.imports[a.asname or a.name.split(".")[0]]=(a.name,None,a.asname)
            elif isinstance(s,(ast.If,ast.Try,ast.With,ast.For,ast.While)):
                if isinstance(s,ast.For): m.defs.update(targets(s.target))
                scan(s.body); scan(getattr(s,"orelse",[]))
                for h in getattr(s,"handlers",[]): scan(h.body)
    scan(m.tree.body); m.defs.discard("__all__")
def where(module,name):
    """Defining (module, name) of module.name; follows re-exports of packages only."""
    m=mods.get(module)
    seen=set()
    while m and m.pkg and name not in m.defs and name in m.imports and (m.name,name) not in seen:
        seen.add((m.name,name))
        src=m.imports[name]
        if src[1] is None or not src[0].startswith(PK): return m.name,name
        if f"{src[0]}.{src[1]}" in mods and src[1] not in mods[src[0]].imports and src[1] not in mods[src[0]].defs: return None
        m=mods.get(src[0]); name=src[1]
    return (m.name,name) if m else None
problems=[]
same_defs=[]
def definition(o,n):
    for st in mods[o].tree.body:
        if isinstance(st,(ast.FunctionDef,ast.ClassDef)) and st.name==n: return st
        if isinstance(st,ast.Assign) and [getattr(t,"id","") for t in st.targets]==[n]: return st
    return None
# order of merged modules by run-time imports
def ordered(olds):
    left=list(olds); done=[]; 
    deps={}
    for o in olds:
        deps[o]=set()
        for s in mods[o].tree.body:
            if isinstance(s,ast.ImportFrom) and s.module and s.module.startswith(PK):
                for a in s.names:
                    w=where(s.module,a.name)
                    if w and w[0] in olds and w[0]!=o: deps[o].add(w[0])
    while left:
        ok=[o for o in left if not (deps[o]&set(left))]
        if not ok: problems.append(f"CYCLE in merge {left}"); ok=left[:1]
        done.append(ok[0]); left.remove(ok[0])
    return done
# ---- collisions inside each new module
alias={}   # (oldmod, localname) -> alias used instead for an import
BUILT=set(dir(builtins))
def stem(n): return n.rsplit(".",1)[-1]
def origin(o,name):
    """What an import of module o binds after the move."""
    src=mods[o].imports[name]
    if src[1] is None: return ("module",src[0],None)
    mod,n=src
    if not mod.startswith(PK): return ("ext",mod,n)
    if f"{mod}.{n}" in mods and n not in mods[mod].imports and n not in mods[mod].defs:
        return ("module",new_of.get(f"{mod}.{n}"),None)
    w=where(mod,n)
    return ("name",w[0],w[1])
for new,olds in groups.items():
    if len(olds)<2: continue
    if new in pkgnew:
        pass
    bound={}  # name -> origin
    for o in ordered(olds):
        m=mods[o]
        for n in sorted(m.defs):
            key=("name",o,n)
            final=renames.get((o,n),n)
            if final in bound and bound[final]!=key:
                if final.startswith("_") and not final.startswith("__"):
                    other=bound[final]
                    d1,d2=definition(o,n),definition(other[1],other[2]) if other[0]=="name" else None
                    if d1 and d2 and ast.unparse(d1)==ast.unparse(d2): same_defs.append((o,n)); continue
                    fixed=f"_{stem(o).upper()}{final}" if n.isupper() else f"_{stem(o)}{final}"
                    renames[o,n]=fixed; problems.append(f"auto {o}:{n} -> {fixed} (also {bound[final]})"); final=fixed
                elif bound[final][0]!="name" or bound[final][1] not in olds:
                    pass
                elif definition(o,n) is not None and definition(bound[final][1],bound[final][2]) is not None and ast.unparse(definition(o,n))==ast.unparse(definition(bound[final][1],bound[final][2])): same_defs.append((o,n)); continue
                else: problems.append(f"PUBLIC TWICE {new}: {n} in {o} and {bound[final]}")
            bound[final]=key
    for o in olds:
        for n in sorted(mods[o].imports):
            og=origin(o,n)
            if og[0]=="name":
                og=("name",og[1],og[2])
                if new_of.get(og[1])==new:
                    continue
            if n in bound and bound[n]!=og:
                # another thing under this name
                a=f"{stem(og[1] or 'x')}_{n}".replace("__","_")
                alias[o,n]=a; problems.append(f"alias {new}: {o} imports {n} from {og} but {bound[n]} has the name -> {a}")
                bound[a]=og
            else: bound[n]=og
    defs={renames.get((o,n),n) for o in olds for n in mods[o].defs}
    for b in defs & BUILT - {"__doc__"}:
        users=[o for o in olds if b not in mods[o].defs]
        for o in users:
            if any(isinstance(x,ast.Name) and x.id==b for x in ast.walk(mods[o].tree)): problems.append(f"BUILTIN {b} shadowed in {new} for {o}")
# ---- source rewriting
def scoped_names(tree):
    """yield (node, is_global) for Name nodes; by function scopes."""
    out=[]
    def locals_of(fn):
        found=set(); glob=set()
        a=fn.args
        for x in [*a.posonlyargs,*a.args,*a.kwonlyargs,a.vararg,a.kwarg]:
            if x: found.add(x.arg)
        def walk(n):
            for c in ast.iter_child_nodes(n):
                if isinstance(c,(ast.FunctionDef,ast.AsyncFunctionDef,ast.ClassDef)): found.add(c.name); continue
                if isinstance(c,ast.Lambda): continue
                if isinstance(c,(ast.ListComp,ast.SetComp,ast.DictComp,ast.GeneratorExp)): 
                    walk_comp(c); continue
                if isinstance(c,ast.Global): glob.update(c.names)
                if isinstance(c,ast.Name) and isinstance(c.ctx,(ast.Store,ast.Del)): found.add(c.id)
                if isinstance(c,(ast.Import,ast.ImportFrom)): 
                    for al in c.names: found.add(al.asname or al.name.split(".")[0])
                if isinstance(c,ast.ExceptHandler) and c.name: found.add(c.name)
                if isinstance(c,(ast.MatchAs,ast.MatchStar)) and c.name: found.add(c.name)
                walk(c)
        def walk_comp(c):
            for x in ast.walk(c):
                if isinstance(x,ast.NamedExpr): found.add(x.target.id)
        body=fn.body if isinstance(fn.body,list) else [fn.body]
        for b in body:
            walk(ast.Module(body=[b],type_ignores=[]))
        return found-glob
    def visit(n,scopes):
        if isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef,ast.Lambda)):
            if not isinstance(n,ast.Lambda):
                for d in n.decorator_list: visit(d,scopes)
                if n.returns: visit(n.returns,scopes)
            for d in [*n.args.defaults,*[k for k in n.args.kw_defaults if k]]: visit(d,scopes)
            for x in [*n.args.posonlyargs,*n.args.args,*n.args.kwonlyargs,n.args.vararg,n.args.kwarg]:
                if x and x.annotation: visit(x.annotation,scopes)
            inner=[*scopes,locals_of(n)]
            for b in (n.body if isinstance(n.body,list) else [n.body]): visit(b,inner)
            return
        if isinstance(n,(ast.ListComp,ast.SetComp,ast.DictComp,ast.GeneratorExp)):
            loc={x for g in n.generators for x in targets(g.target)}
            for c in ast.iter_child_nodes(n): visit(c,[*scopes,loc])
            return
        if isinstance(n,ast.ClassDef):
            for d in [*n.decorator_list,*n.bases,*n.keywords]: visit(d,scopes)
            for b in n.body: visit(b,scopes)   # class-level names treated as global: checked below
            return
        if isinstance(n,ast.Name): out.append((n,not any(n.id in s for s in scopes)))
        for c in ast.iter_child_nodes(n): visit(c,scopes)
    for s in tree.body: visit(s,[])
    return out
def class_level(tree):
    found=set()
    for c in ast.walk(tree):
        if isinstance(c,ast.ClassDef):
            for s in c.body:
                if isinstance(s,ast.AnnAssign) and isinstance(s.target,ast.Name): found.add((s.target.lineno,s.target.col_offset))
                if isinstance(s,ast.Assign):
                    for t in s.targets:
                        if isinstance(t,ast.Name): found.add((t.lineno,t.col_offset))
    return found
def emit(F_new,F_old,node,inside,local_renames):
    """Lines of imports that stand for an ImportFrom of the package; fills local_renames."""
    lines=[]
    for a in node.names:
        mod,n=node.module,a.name
        local=a.asname or a.name
        sub=f"{mod}.{n}"
        if sub in mods and n not in mods[mod].imports and n not in mods[mod].defs:
            new=new_of.get(sub)
            if new is None: problems.append(f"DROPPED module {sub} imported by {F_old or F_new}"); continue
            if new==F_new: problems.append(f"SELF module import {sub} in {F_old}"); continue
            par,st=new.rsplit(".",1)
            lines.append(f"from {par} import {st}"+("" if st==local else f" as {local}")); continue
        if mod not in mods: problems.append(f"?? {mod} in {F_old or F_new}"); lines.append(ast.unparse(node)); continue
        dest=new_of.get(mod); w=where(mod,n)
        if dest is None or (mods[mod].pkg and F_new and F_new.split(".")[1:2]==dest.split(".")[1:2]):
            if w is None or new_of.get(w[0]) is None: problems.append(f"LOST {mod}.{n} for {F_old or F_new}"); continue
            dest=new_of[w[0]]
        newname=renames.get(w,n) if w else n
        if dest==F_new:
            if local!=newname: local_renames[local]=newname
            continue
        use=alias.get((F_old,local))
        if a.asname: final=a.asname
        elif use: final=use; local_renames[local]=use
        else:
            final=newname
            if final!=local: local_renames[local]=final
        lines.append(f"from {dest} import {newname}"+("" if newname==final else f" as {final}"))
    return [l.replace("from "+PK,"from RXRX",1) for l in lines]
def edit(src,edits):
    """edits: list of (line, byte col, line2, col2, text), bytes positions."""
    lines=src.encode().split(b"\n")
    for l1,c1,l2,c2,t in sorted(edits,key=lambda e:(e[0],e[1]),reverse=True):
        head=lines[l1-1][:c1]; tail=lines[l2-1][c2:]
        lines[l1-1:l2]=(head+t.encode()+tail).split(b"\n")
    return b"\n".join(lines).decode()
def rewrite(src,F_new,F_old,own_renames,toplevel_out=None):
    """Rewritten text. toplevel_out: dict that receives imports taken out of the top level (for merged modules)."""
    tree=ast.parse(src); edits=[]; lr={}
    parents={}
    for n in ast.walk(tree):
        for c in ast.iter_child_nodes(n): parents[c]=n
    cut=[]
    for n in ast.walk(tree):
        if isinstance(n,(ast.ImportFrom,ast.Import)):
            ours=isinstance(n,ast.ImportFrom) and n.module and (n.module==PK or n.module.startswith(PK+"."))
            top=parents[n] is tree; tc=is_tc(parents[n]) and parents.get(parents[n]) is tree
            if ours: lines=emit(F_new,F_old,n,not top,lr)
            elif isinstance(n,ast.Import) and any(a.name.startswith(PK) for a in n.names):
                lines=[]
                for a in n.names:
                    if a.name.startswith(PK+".") and a.name in mods:
                        lines.append(f"import {new_of[a.name]}".replace(PK,"RXRX")+(f" as {a.asname}" if a.asname else ""))
                        if not a.asname and new_of[a.name]!=a.name: problems.append(f"IMPORT {a.name} in {F_old or F_new}")
                    else: lines.append("import "+a.name+(f" as {a.asname}" if a.asname else ""))
            else:
                lines=None
                if toplevel_out is not None and (top or tc):
                    lines=[]
                    if isinstance(n,ast.Import): lines=[f"import {a.name}"+(f" as {a.asname}" if a.asname else "") for a in n.names]
                    else: lines=[f"from {n.module} import {a.name}"+(f" as {a.asname}" if a.asname else "") for a in n.names]
                    for i,a in enumerate(n.names):
                        use=alias.get((F_old,a.asname or a.name))
                        if use:
                            lr[a.asname or a.name]=use
                            lines[i]=(f"import {a.name} as {use}" if isinstance(n,ast.Import) else f"from {n.module} import {a.name} as {use}")
            if lines is None: continue
            if toplevel_out is not None and (top or tc):
                (toplevel_out["tc"] if tc else toplevel_out["run"]).extend(lines)
                if top: cut.append(n)
            else:
                same=ast.unparse(n)
                t=("\n"+" "*n.col_offset).join(lines)
                if not lines:
                    sib=parents[n].body if n in getattr(parents[n],"body",[]) else []
                    if len(sib)==1: t="pass"
                edits.append((n.lineno,n.col_offset,n.end_lineno,n.end_col_offset,t))
    ren={**own_renames,**lr}
    if ren:
        cl=class_level(tree)
        for node,glob in scoped_names(tree):
            if glob and node.id in ren and (node.lineno,node.col_offset) not in cl:
                edits.append((node.lineno,node.col_offset,node.end_lineno,node.end_col_offset,ren[node.id]))
        for s in ast.walk(tree):
            if isinstance(s,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef)) and parents[s] is tree and s.name in own_renames:
                line=src.encode().split(b"\n")[s.lineno-1]
                c=line.index(s.name.encode(),s.col_offset+3)
                edits.append((s.lineno,c,s.lineno,c+len(s.name.encode()),own_renames[s.name]))
            if isinstance(s,ast.Global):
                for x in s.names:
                    if x in ren: problems.append(f"GLOBAL {x} in {F_old or F_new}")
    if toplevel_out is not None:
        for s in tree.body:
            if s in cut or is_tc(s) and all(isinstance(x,(ast.Import,ast.ImportFrom)) for x in s.body):
                edits=[e for e in edits if not (s.lineno<=e[0]<=s.end_lineno)]
                edits.append((s.lineno,0,s.end_lineno,10**6,""))
            elif (isinstance(s,ast.Assign) and any(getattr(t,"id","")=="__all__" for t in s.targets)) or any(definition(F_old,n) is not None and definition(F_old,n).lineno==s.lineno for o,n in same_defs if o==F_old):
                edits=[e for e in edits if not (s.lineno<=e[0]<=s.end_lineno)]
                edits.append((s.lineno,0,s.end_lineno,10**6,""))
        if tree.body and isinstance(tree.body[0],ast.Expr) and isinstance(tree.body[0].value,ast.Constant) and isinstance(tree.body[0].value.value,str):
            s=tree.body[0]; edits.append((s.lineno,0,s.end_lineno,10**6,""))
    out=edit(src,edits)
    for a,b in ren.items():  # names in docstrings and string annotations
        out=re.sub(rf"(:(?:func|class|data|meth|attr):`[~.\w]*?){re.escape(a)}`",rf"\g<1>{b}`",out)
    return out,ren
DROPTO={full("theory.theorems"):full("papers.theorems"),full("samplers.localisation"):full("mechanisms.localisation"),full("samplers.rejection"):full("mechanisms.rejection"),full("samplers.ellipsoid"):full("mechanisms.ellipsoid")}
DOT=re.compile(rf"\b{PK}((?:\.\w+)+)")
def dotted(text):
    def sub(mm):
        words=mm.group(1)[1:].split(".")
        for k in range(len(words),0,-1):
            old=PK+"."+".".join(words[:k])
            if old in mods:
                rest=words[k:]
                new=new_of.get(old)
                if rest:
                    w=where(old,rest[0])
                    if (new is None) and w: new=new_of.get(w[0])
                    if w and w in renames: rest=[renames[w],*rest[1:]]
                if new is None and old in DROPTO: new=DROPTO[old]
                if new is None: problems.append(f"string {mm.group(0)}"); return mm.group(0)
                return ".".join([new,*rest])
        return mm.group(0)
    return DOT.sub(sub,text)
paths={}
for o,m in mods.items():
    new=new_of.get(o)
    if new:
        op=str(m.path.relative_to(root)); np_=new.replace(".","/")+("/__init__.py" if new in pkgnew else ".py")
        paths[op]=np_
def pathsub(text):
    def sub(mm):
        p=mm.group(0)
        if p in paths: return paths[p]
        if PK+"/"+p in paths: return paths[PK+"/"+p].removeprefix(PK+"/")
        return p
    return re.sub(r"(?<![\w/.])[\w/]+/[\w]+\.py\b",sub,text)
BT=re.compile(r"`([a-z_]+(?:\.\w+)+)(\(\))?`")
def backtick(text):
    def sub(mm):
        full_=PK+"."+mm.group(1); words=full_.split(".")
        for k in range(len(words),1,-1):
            if ".".join(words[:k]) in mods: return "`"+dotted(full_).removeprefix(PK+".")+(mm.group(2) or "")+"`"
        return mm.group(0)
    return BT.sub(sub,text)
outputs={}
for new,olds in groups.items():
    out_path=root/(new.replace(".","/")+("/__init__.py" if new in pkgnew else ".py"))
    if len(olds)==1:
        o=olds[0]; own={n:b for (mm,n),b in renames.items() if mm==o}
        text,_=rewrite(mods[o].src,new,o,own)
        if new in docs:
            t=ast.parse(text); s=t.body[0]
            text=edit(text,[(s.lineno,0,s.end_lineno,10**6,f'"""{docs[new]}"""')])
    else:
        top={"run":[],"tc":[]}; bodies=[]; alls=[]
        for o in ordered(olds):
            own={n:b for (mm,n),b in renames.items() if mm==o}
            text,_=rewrite(mods[o].src,new,o,own,top)
            bodies.append(text.strip("\n"))
            if mods[o].all: alls+= [renames.get(where(o,x),x) if where(o,x) else x for x in mods[o].all]
        first=mods[olds[0]].tree.body[0]
        doc=docs.get(new) or (first.value.value if isinstance(first,ast.Expr) else "")
        best={}
        for l in sorted(set(top["run"])):
            k=re.split(r" as | import ",l)[-1]
            if k in best and l.startswith("from RXRX") and best[k].startswith("from RXRX"):
                if len(l)>len(best[k]): best[k]=l
            elif k in best: best[k+"#"+l]=l
            else: best[k]=l
        run=sorted(best.values()); tc=sorted(set(top["tc"])-set(run))
        runnames={re.split(r" as | import ",l)[-1] for l in run}
        tc=[l for l in tc if re.split(r" as | import ",l)[-1] not in runnames]
        if tc and not any("import TYPE_CHECKING" in l for l in run): run.append("from typing import TYPE_CHECKING")
        text=f'"""{doc}"""\n\n'+"\n".join(run)+"\n\n"
        if tc: text+="if TYPE_CHECKING:\n"+"\n".join("    "+l for l in tc)+"\n\n"
        if alls and (new in pkgnew or any(mods[o].pkg for o in olds)): text+="__all__ = [\n"+"".join(f'    "{x}",\n' for x in sorted(set(alls)))+"]\n\n"
        text+="\n\n\n".join(b for b in bodies if b)+"\n"
    outputs[out_path]=pathsub(dotted(text)).replace("RXRX",PK)
# other files
others=[]
for d in ("tests","benchmarks","mutants","docs","apps","datasets",".ci","comparison"):
    if (root/d).exists(): others+= [f for f in (root/d).rglob("*") if f.is_file() and f.suffix in (".py",".md",".toml",".ipynb",".json",".yml",".txt","")]
others+=[f for f in root.iterdir() if f.is_file() and f.suffix in (".md",".toml",".yml","") and f.name not in ("LICENSE",)]
for f in others:
    try: src=f.read_text()
    except UnicodeDecodeError: continue
    text=src
    if f.suffix==".py":
        try: text,_=rewrite(src,None,None,{})
        except SyntaxError: pass
    text=pathsub(dotted(text)).replace("RXRX",PK)
    if f.suffix in (".md",): text=backtick(text)
    if text!=src: outputs[f]=text
for t in problems: print(t)
# check for two outputs on a path
sizes=sorted(((t.count("\n"),str(p.relative_to(root))) for p,t in outputs.items() if str(p).startswith(str(P))),reverse=True)
print("files",sum(1 for p in outputs if str(p).startswith(str(P))), "longest",sizes[:12])
if not DRY:
    for p in list(outputs):
        d=p.parent
        while str(d).startswith(str(P)):
            i=d/"__init__.py"
            if i not in outputs:
                n=".".join(d.relative_to(root).parts)
                outputs[i]=f'"""{INIT.get(n,stem(n)+".")}"""\n'
            d=d.parent
    for m in mods.values(): m.path.unlink()
    for p,t in outputs.items(): p.parent.mkdir(parents=True,exist_ok=True); p.write_text(t)
    for d in sorted(P.rglob("*"),reverse=True):
        if d.is_dir():
            rest=[x for x in d.iterdir()]
            if d.name=="__pycache__":
                for x in rest: x.unlink()
                d.rmdir()
            elif not rest: d.rmdir()
