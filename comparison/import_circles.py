import ast,pathlib,sys,collections
root=pathlib.Path(sys.argv[1]); P=root/"rashomon_explorer"
mods={".".join(f.relative_to(root).with_suffix("").parts).removesuffix(".__init__"):f for f in P.rglob("*.py")}
arrows=collections.defaultdict(dict)
for n,f in mods.items():
    tree=ast.parse(f.read_text()); parent={c:p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
    for x in ast.walk(tree):
        if isinstance(x,ast.ImportFrom) and x.module and x.module.startswith("rashomon_explorer"):
            for a in x.names:
                t=f"{x.module}.{a.name}"; t=t if t in mods else x.module
                kind="run" if parent[x] is tree else "tc/late"
                arrows[n].setdefault(t,set()).add((a.name,kind))
# Tarjan
sys.setrecursionlimit(10000)
idx={};low={};st=[];on=set();out=[];c=[0]
def go(v):
    idx[v]=low[v]=c[0];c[0]+=1;st.append(v);on.add(v)
    for w in arrows[v]:
        if w not in idx: go(w);low[v]=min(low[v],low[w])
        elif w in on: low[v]=min(low[v],idx[w])
    if low[v]==idx[v]:
        comp=[]
        while True:
            w=st.pop();on.discard(w);comp.append(w)
            if w==v:break
        if len(comp)>1: out.append(comp)
for v in list(mods):
    if v not in idx: go(v)
s=lambda x:x.removeprefix("rashomon_explorer.")
for comp in out:
    print("CIRCLE",len(comp))
    for v in comp:
        for w,names in arrows[v].items():
            if w in comp: print("   ",s(v),"->",s(w),sorted(names)[:6])
FLOORS=[["exceptions","_utils"],["data"],["rows"],["privacy"],["problem"],["mechanisms"],["papers"],["sets"],["trees"],["measures","estimators"],["release"],["plots"],["report"],["explorer"],["server"],["cli"],["__main__"],["__init__"]]
FL={r:i for i,x in enumerate(FLOORS) for r in x}
def room(n):
    w=n.split("."); return w[1] if len(w)>1 else "__init__"
for n in sorted(mods):
    for w in arrows[n]:
        if room(w)!=room(n) and FL[room(w)]>=FL[room(n)]: print("BACK",s(n),"->",s(w),sorted(arrows[n][w])[:5])
