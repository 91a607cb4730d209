// Reads the files of deploy/ as those read them for whom they are, and prints what these would say: kustomize and the validation
// of the API server of Kubernetes, the loader of Compose, and the linter of BuildKit. It starts nothing and asks no network.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	deploy := os.Args[1]
	found := compose(filepath.Join(deploy, "compose.yaml"))
	found = append(found, dockerfile(filepath.Join(deploy, "Dockerfile"))...)
	for _, folder := range []string{"worker", "controller"} {
		found = append(found, kubernetes(filepath.Join(deploy, "kubernetes", folder))...)
	}
	for _, one := range found {
		fmt.Println(one)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

func compose(file string) []error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return []error{err}
	}
	if _, err = options.LoadProject(context.Background()); err != nil {
		return []error{fmt.Errorf("compose.yaml: %w", err)}
	}
	return nil
}

// Stands for the registry, which is not asked.
type anyImage struct{}

func (anyImage) ResolveImageConfig(_ context.Context, name string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return name, digest.FromString(name), []byte(`{"architecture":"amd64","os":"linux"}`), nil
}

func dockerfile(file string) []error {
	text, err := os.ReadFile(file)
	if err != nil {
		return []error{err}
	}
	ctx := context.Background()
	nothing := llb.Scratch()
	source := llb.NewSourceMap(&nothing, file, "Dockerfile", text)
	if source.Definition, err = nothing.Marshal(ctx); err != nil {
		return []error{err}
	}
	result, err := dockerfile2llb.DockerfileLint(ctx, text, dockerfile2llb.ConvertOpt{MetaResolver: anyImage{}, SourceMap: source})
	if err != nil {
		return []error{err}
	}
	var found []error
	if result.Error != nil {
		found = append(found, fmt.Errorf("Dockerfile: %s", result.Error.Message))
	}
	for _, warning := range result.Warnings {
		found = append(found, fmt.Errorf("Dockerfile: %s: %s", warning.RuleName, warning.Detail))
	}
	return found
}

func kubernetes(folder string) []error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return []error{err}
	}
	var found []error
	for _, each := range built.Resources() {
		for _, err := range invalid(each) {
			found = append(found, fmt.Errorf("%s: %w", each.CurId(), err))
		}
	}
	return found
}

var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()

func invalid(each *resource.Resource) []error {
	// The Worker Controller of Temporal defines these, and no Go module that can be had has them.
	if each.GetGvk().Group == "temporal.io" {
		return nil
	}
	text, err := each.AsYAML()
	if err != nil {
		return []error{err}
	}
	decoded, _, err := strict.Decode(text, nil, nil)
	if err != nil {
		return []error{err}
	}
	var list field.ErrorList
	switch value := decoded.(type) {
	case *apps.Deployment:
		list = appsvalidation.ValidateDeployment(value, corevalidation.PodValidationOptions{})
	case *core.ConfigMap:
		list = corevalidation.ValidateConfigMap(value)
	case *policy.PodDisruptionBudget:
		list = policyvalidation.ValidatePodDisruptionBudget(value, policyvalidation.PodDisruptionBudgetValidationOptions{})
	default:
		return []error{fmt.Errorf("nothing here validates a %T", value)}
	}
	var found []error
	for _, err := range list {
		found = append(found, err)
	}
	return found
}
